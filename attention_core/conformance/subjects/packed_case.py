"""Cases of several texts: their lengths beside the sizes of heads, shrunk text by text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from attention_core.conformance.budgets.budget import round_to
from attention_core.conformance.subjects.parameter_case import ParameterCase, named_sizes
from attention_core.conformance.worker.exchange import NDArray

Lengths = list[list[int]]
"""(n_q, n_kv) of every text, as JSON has them."""
EDGES = (1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129)
LONG_EDGES = (33, 63, 64, 65, 127, 128, 129, 255, 256, 257)
KINDS = ("any", "same", "decode", "steps", "chunk", "empty", "edges", "long", "many", "one")
"""How lengths are drawn: n_q and n_kv apart, alike, one query, one after dozens or hundreds of keys, a few queries
after a context, some texts without queries or keys, at the edges of blocks, one long text among short ones, dozens of
texts, or a single one."""


UNSAID = ("texts", "lengths", "uniform", "near")
"""Options that say how texts are drawn, and no call asks for."""
FEATURES_ASKED = ("sides", "softcap", "sinks", "slopes")
"""Options of a case that ask for a feature."""


class PackedCase(ParameterCase):
    """A case whose option `texts` holds (n_q, n_kv) of every text; its sizes are H_kv, group, d and d_v.

    With the option `uniform` all texts have as many queries, and there is one at least.
    """

    @property
    def texts(self) -> list[tuple[int, int]]:
        """(n_q, n_kv) of every text."""
        return [(int(n_q), int(n_kv)) for n_q, n_kv in self.options["texts"]]

    @property
    def heads(self) -> int:
        """H, query heads."""
        return self["H_kv"] * self["group"]

    def with_texts(self, texts: Any) -> PackedCase:
        """The case with other texts."""
        changed = self.with_(options={**self.options, "texts": [list(pair) for pair in texts]})
        assert isinstance(changed, PackedCase)
        return changed

    def named_sizes(self) -> list[dict[str, int]]:
        """The sizes that a condition speaks of: those of heads, the longest lengths and the number of texts."""
        longest = [max((pair[i] for pair in self.texts), default=0) for i in (0, 1)]
        return [{**named_sizes(self.sizes)[0], "B": len(self.texts), "n_q": longest[0], "n_kv": longest[1]}]

    def describe(self) -> str:
        """The case in one line."""
        texts = " ".join(f"{n_q}:{n_kv}" for n_q, n_kv in self.texts) or "none"
        wanted = {k: v for k, v in self.options.items() if k not in UNSAID and is_asked(v)}
        others = {**self.sizes, **wanted}
        return f"{self.dtype} texts {texts} {' '.join(f'{k}={v}' for k, v in others.items())}"

    def smaller(self) -> Iterator[ParameterCase]:
        """Cases with fewer and shorter texts, and of smaller sizes."""
        for case in self._fewer_texts():
            if not self.options.get("uniform") or _as_many_queries(case.texts):
                yield case
        for name in FEATURES_ASKED:
            if self.options.get(name) not in (None, False):
                fewer_features = self.with_(options={**self.options, name: None})
                assert isinstance(fewer_features, PackedCase)
                yield fewer_features
        n_q = max((n for n, _ in self.texts), default=0)
        for fewer in dict.fromkeys((1, n_q // 2, n_q - 1)) if self.options.get("uniform") else ():
            if 1 <= fewer < n_q:
                yield self.with_texts([(fewer, n_kv) for _, n_kv in self.texts])
        yield from super().smaller()

    def _fewer_texts(self) -> Iterator[PackedCase]:
        """Cases with fewer texts, and with a shorter one."""
        texts = self.texts
        for half in (texts[: len(texts) // 2], texts[len(texts) // 2 :]) if len(texts) > 3 else ():
            yield self.with_texts(half)
        for i in range(len(texts)):
            yield self.with_texts([*texts[:i], *texts[i + 1 :]])
        for i, (n_q, n_kv) in enumerate(texts):
            for pair in dict.fromkeys(_shorter(n_q, n_kv)):
                yield self.with_texts([*texts[:i], pair, *texts[i + 1 :]])

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> PackedCase:
        """The inverse of `to_json`."""
        return PackedCase(**{k: v for k, v in data.items() if k != "type"})


def is_asked(value: Any) -> bool:
    """Whether an option asks for something: 0 does.

    Example:
        >>> [is_asked(value) for value in (None, False, 0.0, True)]
        [False, False, True, True]
    """
    return value is not None and value is not False


def _as_many_queries(texts: list[tuple[int, int]]) -> bool:
    """Whether there are texts, and all of them have the same number of queries, one at least."""
    counts = {n_q for n_q, _ in texts}
    return len(counts) == 1 and 0 not in counts


def _shorter(n_q: int, n_kv: int) -> Iterator[tuple[int, int]]:
    """Pairs of lengths below a pair; alike where they are alike, and as far apart where they are not."""
    if n_q == n_kv:
        yield from ((n, n) for n in (0, 1, n_q // 2, n_q - 1) if 0 <= n < n_q)
        return
    for other in (1, n_q // 2, n_q - 1):
        if 0 <= other < n_q:
            yield other, n_kv
    for other in (1, n_kv // 2, n_kv - 1):
        if 0 <= other < n_kv:
            yield n_q, other


def draw_texts(
    kind: str, rng: np.random.Generator, *, most: int = 12, alike: bool = False, reach: bool = False
) -> Lengths:
    """Lengths of texts of a kind (see `KINDS`).

    Args: most: of the usual lengths; alike: whether n_q = n_kv is all that the target takes; reach: whether one text
        has the most keys.

    Example:
        >>> draw_texts("one", np.random.default_rng(0), most=1)
        [[1, 1]]
    """
    count = {"one": 1, "many": int(rng.integers(65, 73) if rng.random() < 0.3 else rng.integers(17, 41))}.get(
        kind, int(rng.integers(2, 6))
    )
    texts = [_pair(kind, rng, most) for _ in range(count)]
    if reach:
        text = texts[int(rng.integers(count))]
        text[:] = [most if text[0] == text[1] else text[0], most]
    if kind == "empty":
        for i in {0, int(rng.integers(count)), count - 1} if rng.random() < 0.8 else range(count):
            texts[i] = [[0, 0], [0, texts[i][1]], [texts[i][0], 0]][0 if alike else int(rng.integers(3))]
    if kind == "long":
        n = int(rng.integers(130, 280))
        texts[int(rng.integers(count))] = [n, n]
    return [[n_kv, n_kv] if n_kv or not n_q else [0, 0] for n_q, n_kv in texts] if alike else texts


def _pair(kind: str, rng: np.random.Generator, most: int) -> list[int]:
    """(n_q, n_kv) of one text."""
    n = int(rng.integers(1, most + 1))
    if kind == "edges":
        return [int(rng.choice(EDGES)), int(rng.choice(EDGES))]
    if kind == "decode":
        return [1, n]
    if kind == "steps":
        return [1, int(rng.choice(LONG_EDGES)) if rng.random() < 0.5 else int(rng.integers(33, 280))]
    if kind == "chunk":
        return [int(rng.integers(1, n + 1)), n]
    if kind in ("same", "many", "long"):
        return [n, n]
    return [n, int(rng.integers(1, most + 1))]


def draw_head_sinks(case: ParameterCase) -> NDArray:
    """A score for each head near the log-sum-exp of a few keys."""
    drawn = 1.0 + 1.5 * case.rng("sinks").standard_normal(case["H_kv"] * case["group"])
    return np.asarray(round_to(np.rint(4 * drawn) / 4 if case.plain else drawn, case.dtype))


def draw_head_slopes(case: ParameterCase) -> NDArray:
    """A slope for each head, powers of two that differ from head to head where that is possible."""
    rng, heads = case.rng("slopes"), case["H_kv"] * case["group"]
    return np.asarray(2.0 ** -((rng.permutation(heads) + int(rng.integers(4))) % 4).astype(float))
