"""Masks of benchmark cases as words: which pairs are attended, row by row and never all at once.

`causal+segments:8` is a conjunction; `bool` and `bias` are drawn tensors. Counting pairs needs no n_q x n_kv array.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from attention_core.bench.json_fields import DIGITS, parse_whole_number, shorten
from attention_core.declaration.implementation import TargetError

if TYPE_CHECKING:
    from attention_core.masking import Mask

BoolArray = npt.NDArray[np.bool_]
FORMS = "none, causal, bool, bias, window:W, prefix:P, segments:K, or several of them joined by +"
NUMBERED = {"window": 1, "prefix": 0, "segments": 1}
"""Parts that take a number, and the smallest one."""
DENSITY = 0.5
"""Share of the pairs that a drawn bool mask leaves."""
"""Of a number in words: with more, positions do not fit the integers that count them."""
ROWS = 1024
"""Rows of a mask that are written out at once."""


@dataclass(frozen=True)
class MaskSpec:
    """A mask in words.

    Args: parts, pairs (name, number), e.g. (("window", 256),); query i stands at position i + n_kv - n_q.
    """

    parts: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        return "+".join(f"{name}:{number}" if name in NUMBERED else name for name, number in self.parts) or "none"

    @property
    def kind(self) -> str:
        """ "none", "causal", "structured" (named sets of pairs), "bool" or "bias" (tensors)."""
        names = [name for name, _ in self.parts]
        if "bias" in names or "bool" in names:
            return "bias" if "bias" in names else "bool"
        return names[0] if names == ["causal"] else "structured" if names else "none"

    def rows(self, n_q: int, n_kv: int, start: int, stop: int, seed: int) -> BoolArray:
        """Which keys the queries start..stop-1 attend: bool (stop - start, n_kv)."""
        return self.at(np.arange(start, stop), n_q, n_kv, seed)

    def at(self, which: npt.NDArray[np.int64], n_q: int, n_kv: int, seed: int) -> BoolArray:
        """The same for chosen queries: bool (len(which), n_kv)."""
        i, j = (which + n_kv - n_q)[:, None], np.arange(n_kv)
        allow = np.ones((len(which), n_kv), dtype=np.bool_)
        for name, number in self.parts:
            if name == "causal":
                allow &= j <= i
            elif name == "window":
                allow &= (i - number < j) & (j <= i)
            elif name == "prefix":
                allow &= (j < number) | (j <= i)
            elif name == "segments":
                ids = segment_ids(n_kv, number, seed)
                allow &= ids[np.maximum(i, 0)] == ids
            elif name == "bool":
                allow &= _draw_rows(which, n_kv, seed)
        return allow

    def pairs(self, n_q: int, n_kv: int, seed: int) -> int:
        """How many pairs are attended, in one head: the work that no correct kernel can leave out."""
        if not self.parts or self.kind == "bias":
            rest = MaskSpec(tuple(p for p in self.parts if p[0] != "bias"))
            return n_q * n_kv if not rest.parts else rest.pairs(n_q, n_kv, seed)
        starts = range(0, n_q, ROWS)
        return sum(int(self.rows(n_q, n_kv, s, min(s + ROWS, n_q), seed).sum()) for s in starts)

    def structure(self, n_q: int, n_kv: int, seed: int) -> Mask | None:
        """The mask of `attention_core.masking` with the same pairs; None where it is a tensor, or no mask."""
        from attention_core import masking

        if self.kind not in ("causal", "structured"):
            return None
        made: list[Mask] = []
        for name, number in self.parts:
            if name == "causal":
                made.append(masking.causal("bottom_right"))
            elif name == "window":
                made.append(masking.sliding_window(number, "bottom_right"))
            elif name == "prefix":
                made.append(masking.prefix(number, "bottom_right"))
            else:
                made.append(masking.segments(segment_ids(n_kv, number, seed)[None].tolist(), "bottom_right"))
        whole = made[0]
        for part in made[1:]:
            whole = whole & part
        return whole


def segment_ids(n: int, count: int, seed: int) -> npt.NDArray[np.int64]:
    """Ids (n,) of `count` packed documents whose lengths are drawn; fewer where n has no room for them."""
    cuts = min(count, n) - 1
    rng = np.random.default_rng([seed, *b"segments"])
    starts = np.sort(rng.choice(np.arange(1, n), size=cuts, replace=False)) if cuts > 0 else np.array([], dtype=int)
    return np.searchsorted(starts, np.arange(n), side="right").astype(np.int64)


def _draw_rows(which: npt.NDArray[np.int64], n_kv: int, seed: int) -> BoolArray:
    """Rows of a drawn mask; every row keeps its first key, so that none is dead."""
    found = np.empty((len(which), n_kv), dtype=np.bool_)
    for at, row in enumerate(which):
        found[at] = np.random.default_rng([seed, int(row), *b"mask"]).random(n_kv) < DENSITY
    found[:, 0] = True
    return found


def read_mask(text: str) -> MaskSpec:
    """Parse a mask.

    >>> read_mask("window:256").parts
    (('window', 256),)

    Raises: TargetError for words that do not describe a mask.
    """
    parts: list[tuple[str, int]] = []
    for word in text.split("+") if text != "none" else []:
        name, colon, number = word.partition(":")
        if name in dict(parts):  # a second causal or window adds nothing, and thousands of them take minutes
            raise TargetError(f"mask {shorten(text)!r} names {name} twice: write each part once")
        if name in NUMBERED:
            found = parse_whole_number(number)
            if found is None or found < NUMBERED[name]:
                raise TargetError(
                    f"mask {shorten(text)!r}: write {name}:N with N a whole number >= {NUMBERED[name]} of at most "
                    f"{DIGITS} digits"
                )
            parts.append((name, found))
        elif name in ("causal", "bool", "bias") and not colon:
            parts.append((name, 0))
        else:
            raise TargetError(f"mask {shorten(text)!r} is not understood: write {FORMS}")
    return MaskSpec(tuple(parts))
