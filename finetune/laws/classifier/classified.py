"""What the laws of sequence classifiers hold in their hands: a small model with known weights, and batches of texts.

The weights are drawn as in `model`; equal logits may be `model.noise` apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attention_core.conformance.subjects.evidence import NotApplicable, Refused, Result
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.worker.exchange import NDArray, Request
from finetune.laws.causal_lm.model import Held, Model

Text = tuple[NDArray, NDArray]
"""The tokens of a text and its segments, (n,) each."""


@dataclass(frozen=True)
class Batch:
    """Tokens, mask (1 where real) and segments, (B, n) each."""

    ids: NDArray
    mask: NDArray
    types: NDArray

    def with_(self, **changes: Any) -> Batch:
        """The same with another part."""
        return Batch(**{**vars(self), **changes})

    def __getitem__(self, rows: Any) -> Batch:
        return Batch(self.ids[rows], self.mask[rows], self.types[rows])


def row(result: Result, b: int) -> Result:
    """The logits of one text, (1, classes), shown where they stand in their batch."""

    def place(_: int, c: int) -> str:
        return f"{{out}}[{b}, {c}].item()"

    return Result(result.values[b : b + 1], result.request, extra=result.extra, expression=place)


class Classified(Model):
    """A class or function `(vocab_size, length, classes) -> model`.

    `model(input_ids=..., attention_mask=...)` gives logits (B, classes), or a tuple that begins with them. Further laws
    apply where it has `gradients`: it is a `logits_probe.Gradients`, or was made by
    `finetune.laws.classifier.logits_probe.make_target`.

    Declared with `--parameter`: `token_types=True` (it takes `token_type_ids`, too), `pool=first`, `mean` or `last`,
    `side=right` or `left` (padding stands on this side alone, since positions count it), `padding=ids` (its id marks
    padding, too), `pad_id` (0), `dropout=True` (it draws in training mode).
    """

    @property
    def pad_id(self) -> int:
        """The id at places of padding; no text has it."""
        return int(self.parameters.get("pad_id", 0))

    @property
    def side(self) -> str:
        """Where padding stands, unless a law says otherwise."""
        return "left" if self.parameters.get("side") == "left" else "right"

    @property
    def takes_types(self) -> bool:
        return bool(self.parameters.get("token_types", False))

    # --- calls ----------------------------------------------------------------------------------------

    def _request(self, case: ParameterCase, held: Held, *args: Any, **kwargs: Any) -> Request:
        if args:  # the first call, which reads the weights
            ids = np.full_like(args[0], 1)
            kwargs |= self.arguments(Batch(ids, np.ones_like(ids), np.zeros_like(ids)))
        built = (held.number, (case["vocab"], case["length"], case["classes"]))
        return self.request(instance_=built, **kwargs)

    def arguments(self, batch: Batch, without: str = "") -> dict[str, Any]:
        """The arguments by name."""
        found = {"input_ids": batch.ids, "attention_mask": batch.mask}
        found |= {"token_type_ids": batch.types} if self.takes_types else {}
        return {name: value for name, value in found.items() if name != without}

    def score(self, case: ParameterCase, held: Held, batch: Batch, *, without: str = "", **kwargs: Any) -> Result:
        """Logits (B, classes) of one pass; `without` names an argument that is left out."""
        request = self.build_request(case, held, **self.arguments(batch, without), **kwargs)
        return self.result(request, (len(batch.ids), case["classes"]))

    def scored_without(self, case: ParameterCase, held: Held, batch: Batch, name: str) -> Result:
        """`scored` without an argument that a model may insist on."""
        try:
            return self.score(case, held, batch, without=name)
        except Refused as refusal:
            raise NotApplicable(f"it wants {name}: {refusal}") from None

    def plain(self, case: ParameterCase) -> None:
        """Logits of a few texts, in both modes."""
        held, batch = self.new_model(case), self.batch(self.texts(case))
        for mode in ("eval", "train"):
            self.score(case, held, batch, mode=mode)

    def gradients(self, case: ParameterCase, held: Held, batch: Batch, labels: NDArray) -> tuple[Result, NDArray]:
        """All gradients in a row, and a flag for each parameter."""
        request = self.build_request(case, held, labels=labels, method_="gradients", **self.arguments(batch))
        try:
            found = self.result(request)
        except NotApplicable:
            advice = "build it with finetune.laws.classifier.logits_probe.make_target"
            raise NotApplicable(f"it has no gradients(): {advice}") from None
        return found, found.extra["response"].outputs[1].values

    # --- drawn arguments ------------------------------------------------------------------------------

    def words(self, case: ParameterCase) -> NDArray:
        """The ids that texts are made of: all but that of padding."""
        return np.setdiff1d(np.arange(case["vocab"]), [self.pad_id])

    def texts(self, case: ParameterCase, purpose: str = "texts") -> list[Text]:
        """B texts, the first of n tokens, the others of 1 to n; each has a second segment where they are declared."""
        rng, found = case.rng(purpose), []
        for row in range(case["B"]):
            n = case["n"] if row == 0 else int(rng.integers(1, case["n"] + 1))
            types = (np.arange(n) >= rng.integers(0, n + 1)).astype(np.int64)
            found.append((rng.choice(self.words(case), n), types if self.takes_types else np.zeros(n, np.int64)))
        return found

    def batch(self, texts: Sequence[Text], width: int = 0, side: str = "") -> Batch:
        """Texts padded to the longest of them, or to a width."""
        width = max(width, *(len(ids) for ids, _ in texts))
        found = Batch(
            np.full((len(texts), width), self.pad_id), *(np.zeros((len(texts), width), int) for _ in range(2))
        )
        for row, (ids, types) in enumerate(texts):
            at = width - len(ids) if (side or self.side) == "left" else 0
            place = slice(at, at + len(ids))
            found.ids[row, place], found.mask[row, place], found.types[row, place] = ids, 1, types
        return found

    def classes(self, case: ParameterCase) -> NDArray:
        """A drawn class for each text."""
        return case.rng("labels").integers(0, case["classes"], case["B"])
