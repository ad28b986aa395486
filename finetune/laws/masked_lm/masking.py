"""What the laws of masked language modelling hold in their hands: batches of tokens, and what a masking made of them.

In every batch padding is 0, a text may begin with 1 and holds 2 where a part of it ends; `special` is true there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from attention_core.conformance.subjects.evidence import Evidence, Refused, Result, Shown, Violation
from attention_core.conformance.subjects.parameter_case import ParameterCase, ParameterSubject
from attention_core.conformance.worker.exchange import NDArray, Request

PAD, FIRST, LAST = 0, 1, 2
SPECIAL = (PAD, FIRST, LAST)
LARGE_BATCH = 50


def ordinary(vocab: int, mask_id: int) -> NDArray:
    """The ids of a vocabulary that are neither special nor the mask."""
    ids = np.arange(len(SPECIAL), vocab)
    found: NDArray = ids[ids != mask_id]
    return found


@dataclass(frozen=True)
class Batch:
    """Tokens (B, n), where nothing may be chosen (B, n), the size of the vocabulary and the id of the mask."""

    ids: NDArray
    special: NDArray
    vocab: int
    mask_id: int

    @property
    def able(self) -> NDArray:
        """Where a token may be chosen."""
        found: NDArray = ~self.special
        return found

    @property
    def words(self) -> NDArray:
        """The ids that texts are made of: neither special nor the mask."""
        return ordinary(self.vocab, self.mask_id)


@dataclass(frozen=True)
class Hidden:
    """What came back for a batch: inputs and labels, both (B, n), and the attention mask where there is one."""

    batch: Batch
    inputs: Result
    labels: Result
    mask: Result | None
    ignored: int

    @property
    def prediction_mask(self) -> NDArray:
        """Where a token is to be predicted."""
        found: NDArray = self.labels.values != self.ignored
        return found

    @property
    def request(self) -> Request:
        """The call that gave it."""
        return self.inputs.request


class Masking(ParameterSubject):
    """A function `(ids, special, vocab_size, mask_id, seed) -> (inputs, labels)`, perhaps with an attention mask.

    ids (B, n) int64; special (B, n) bool, true at special tokens and padding (padding is 0, texts begin with 1, their
    parts end with 2, so that a masking may find them by ids as well); seed, a whole number.

    Declared with `--parameter`: `rate` (0.15), `masked` (0.8) and `random` (0.1) of what is chosen, `ignore_index`
    (-100), `random_words=ordinary` (a random word is never a special token or the mask), `attention_mask=True` (there
    are three results).
    """

    def share(self, name: str, default: float) -> float:
        """A declared probability."""
        return float(self.parameters.get(name, default))

    @property
    def rate(self) -> float:
        """Of the tokens that may be chosen: how many are."""
        return self.share("rate", 0.15)

    @property
    def ignore_index(self) -> int:
        """The label where nothing is to be predicted."""
        return int(self.parameters.get("ignore_index", -100))

    def drawn_words(self, batch: Batch) -> NDArray:
        """The ids that a random word may have."""
        return batch.words if self.parameters.get("random_words") == "ordinary" else np.arange(batch.vocab)

    def becomes(self, batch: Batch) -> dict[str, float]:
        """What a chosen word becomes, with its probability: the mask, the word itself, or another one.

        Formula: V words are drawn from; the word is one of them, and the mask is where V is the whole vocabulary
        """
        masked, random = self.share("masked", 0.8), self.share("random", 0.1)
        drawn = self.drawn_words(batch)
        to_mask = random / len(drawn) if batch.mask_id in drawn else 0.0
        own = random / len(drawn)
        return {"the mask": masked + to_mask, "itself": 1 - masked - random + own, "another": random - own - to_mask}

    def batch(self, case: ParameterCase) -> Batch:
        """Texts of different lengths, most of them whole; framed ones begin with 1 and end with 2, as pairs do.

        In a large batch few are framed or short, so that words stand at the first and the last place often enough.
        """
        rng = case.rng("batch")
        B, n, vocab = case["B"], case["n"], case["vocab"]
        mask_id = int(rng.integers(3, vocab))
        words = ordinary(vocab, mask_id)
        # Rows are windows of one text: none is the one above it, and a program that shows them stays short.
        text = rng.choice(words[:1] if case.plain == 2 else words, 2 * n)
        ids = np.lib.stride_tricks.sliding_window_view(text, n)[np.arange(B) % (n + 1)].copy()
        share = 0.75 if B < LARGE_BATCH or case.options.get("padded") else 0.15
        lengths = np.where(rng.random(B) >= share / 2, n, rng.integers((n + 1) // 2, n + 1, B))
        place = np.arange(n)
        framed = rng.random(B) < share
        ids[framed, 0] = FIRST
        ids[framed, rng.integers(0, n, B)[framed]] = LAST
        ids[np.flatnonzero(framed), lengths[framed] - 1] = LAST
        ids = np.where(place < lengths[:, None], ids, PAD)
        if rng.random() < 0.5:  # padding in front
            ids = np.take_along_axis(ids, (place - (n - lengths)[:, None]) % n, 1)
        return Batch(ids, np.isin(ids, SPECIAL), vocab, mask_id)

    # --- calls ----------------------------------------------------------------------------------------

    def build_request(self, batch: Batch, seed: int, **fields: Any) -> Request:
        """The request of one call."""
        return self.request(batch.ids, batch.special, batch.vocab, batch.mask_id, seed, **fields)

    def hide(self, batch: Batch, seed: int, **fields: Any) -> Hidden:
        """What comes back. Raises: Violation unless it is a pair of whole numbers of the shape of the ids."""
        request = self.build_request(batch, seed, **fields)
        outputs = self.send(request).outputs
        wanted = (2, 3) if not self.parameters.get("attention_mask") else (3,)
        if len(outputs) not in wanted:
            message = "inputs, labels" if 2 in wanted else "inputs, labels, attention_mask"
            raise Violation(
                f"got {len(outputs)} results, but should be {message}", Evidence((Shown(request),), kind="crash")
            )
        results = []
        for number, (name, output) in enumerate(zip(("inputs", "labels", "mask"), outputs, strict=False)):
            quantity = "out" if number == 0 else f"out{number}"
            if output.shape != batch.ids.shape:
                message = f"{name}: got shape {output.shape}, but should be {batch.ids.shape}"
                text = f"{{out}}{f'[{number}]' if number else ''}.shape"
                shown = Shown(request, quantity, (0,), f"1.0 * (tuple({text}) == {batch.ids.shape})")
                raise Violation(message, Evidence((shown,), 0.0, 1.0))
            if number < 2 and output.dtype not in ("int64", "int32"):
                message = f"{name}: got dtype {output.dtype}, but should be int64, as the ids are"
                raise Violation(message, Evidence((Shown(request),), kind="crash"))
            results.append(Result(output.values.astype(np.float64), request, quantity))
        return Hidden(batch, results[0], results[1], results[2] if len(results) == 3 else None, self.ignore_index)

    def plain(self, case: ParameterCase) -> None:
        """A batch, with one seed and then another."""
        for seed in (case.seed, case.seed + 1):
            self.hide(self.batch(case), seed)

    def hide_or_violate(self, batch: Batch, seed: int) -> Hidden:
        """`hidden` for a batch that nothing is wrong with, however little there is to hide: refusing it is a fault."""
        try:
            return self.hide(batch, seed)
        except Refused as refusal:
            shown = Evidence((Shown(self.build_request(batch, seed)),), kind="crash")
            raise Violation(f"got {refusal}, but should be taken", shown) from None
