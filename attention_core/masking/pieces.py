"""Cut a structured mask into rectangles of pairs: outside them no query attends anything, and nothing is computed.

A rectangle is open (everything attended), causal (query r of it attends its keys 0..r) or masked (written out).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attention_core.masking.extent import Extent
from attention_core.masking.structured import Mask

Kind = Literal["open", "causal", "masked"]
Rows = NDArray[np.int64]
Intervals = NDArray[np.int64]
MOST_PLANS = 8
"""Plans that a mask keeps: a decoder meets a new length with every token, and its layers meet that one again."""


class Piece(NamedTuple):
    """Queries `rows` against keys `keys` of sequence `sequence` (None: of all)."""

    sequence: int | None
    rows: slice
    keys: slice
    kind: Kind

    @property
    def pairs(self) -> int:
        """Pairs that a kernel computes for it, of one head of one sequence."""
        area: int = (self.rows.stop - self.rows.start) * (self.keys.stop - self.keys.start)
        return area // 2 if self.kind == "causal" else area


@dataclass(frozen=True, eq=False)
class Tiling:
    """The pieces of a mask, in order; rows in no piece attend nothing.

    Args: pieces; sequences, 1 where all share the pieces; n_q, n_kv; first, end: (sequences, n_q), the interval of
        keys of each query; exact, whether it attends all of that; batch, the sequences that the mask has.
    """

    pieces: tuple[Piece, ...]
    sequences: int
    n_q: int
    n_kv: int
    first: Intervals
    end: Intervals
    exact: bool
    batch: int
    kept: dict[Any, Any] = field(default_factory=dict)
    """What `kept.py` has written out."""

    @cached_property
    def pairs(self) -> float:
        """Mean number of pairs computed, of one head of one sequence."""
        return sum(piece.pairs for piece in self.pieces) / self.sequences

    @cached_property
    def masked_pairs(self) -> float:
        """Those of them in rectangles with a mask."""
        return sum(piece.pairs for piece in self.pieces if piece.kind == "masked") / self.sequences

    @cached_property
    def mean_attended_pairs(self) -> float:
        """Mean number of pairs attended, at most: all of each query's interval are counted."""
        return float((self.end - self.first).clip(min=0).sum(1).mean()) if self.batch else 0.0


def plan(mask: Mask, n_q: int, n_kv: int, block: int = 128) -> Tiling:
    """Cut a mask into pieces of about `block` queries, or of as many as open and causal runs have.

    The last `MOST_PLANS` are kept with the mask: the layers of a model that share a mask share its plan.

    Args: mask; n_q, n_kv >= 0; block >= 1, in queries. Raises: ValueError as `mask.dense`.
    Example:
        >>> from attention_core.masking import sliding_window
        >>> piece = plan(sliding_window(2), 4, 4, block=4).pieces[1]
        >>> piece.rows, piece.keys
        (slice(2, 4, None), slice(1, 4, None))
    """
    known: dict[tuple[int, int, int], Tiling] = mask.__dict__.setdefault("_plans", {})
    found = known.get((n_q, n_kv, block))
    if found is None:
        found = _plan(mask.extent(n_q, n_kv), n_q, n_kv, block)
        keep(known, (n_q, n_kv, block), found, MOST_PLANS)
    return found


def keep(known: dict[Any, Any], what: Hashable, found: object, most: int) -> None:
    """Remember one thing more, and forget the oldest beyond so many.

    Example:
        >>> known = {"a": 1}
        >>> keep(known, "b", 2, 1)
        >>> known
        {'b': 2}
    """
    for old in list(known)[: max(0, len(known) + 1 - most)]:
        known.pop(old, None)
    known[what] = found


def _plan(extent: Extent, n_q: int, n_kv: int, block: int) -> Tiling:
    first, end = np.atleast_2d(extent.first.numpy()), np.atleast_2d(extent.end.numpy())
    B = first.shape[0]
    alike = B > 0 and bool((first == first[:1]).all() and (end == end[:1]).all())
    if not n_q or not B:
        pieces: list[Piece] = []
    elif alike:
        pieces = _cut(None, first[0], end[0], extent.exact, block)
    else:
        pieces = [piece for b in range(B) for piece in _cut(b, first[b], end[b], extent.exact, block)]
    sequences = B if pieces and not alike else 1
    return Tiling(tuple(pieces), sequences, n_q, n_kv, first, end, extent.exact, B)


def _cut(sequence: int | None, first: Rows, end: Rows, exact: bool, block: int) -> list[Piece]:
    """The pieces of one sequence, from the first query to the last."""
    pieces: list[Piece] = []
    n, dead = len(first), first >= end
    # Open: the next query has the same interval. Causal: it has one key more, from a square on.
    level = _runs((np.diff(first) == 0) & (np.diff(end) == 0) | (dead[1:] & dead[:-1]))
    steps = _runs((np.diff(first) == 0) & (np.diff(end) == 1))
    least = max(1, block // 2)
    i = 0
    while i < n:
        if dead[i]:
            i = level[i]
            continue
        if exact and (level[i] - i >= least or level[i] == n):
            stop, kind = level[i], "open"
        elif exact and end[i] - first[i] == 1 and steps[i] - i >= least:
            stop, kind = steps[i], "causal"
        else:
            stop, kind = _masked_until(i, first, end, dead, level if exact else None, block), "masked"
        alive = ~dead[i:stop]
        keys = slice(int(first[i:stop][alive].min()), int(end[i:stop][alive].max()))
        if kind == "masked" and exact and (first[i:stop] == keys.start).all() and (end[i:stop] == keys.stop).all():
            kind = "open"
        pieces.append(Piece(sequence, slice(i, int(stop)), keys, kind))  # type: ignore[arg-type]
        i = int(stop)
    return pieces


def _masked_until(i: int, first: Rows, end: Rows, dead: NDArray[np.bool_], level: Rows | None, block: int) -> int:
    """Where the masked piece that begins at query i ends: after a block, or before what is better taken apart."""
    n = len(first)
    low, high = first[i], end[i]
    for r in range(i + 1, min(i + block, n)):
        if dead[r]:
            continue
        # A long open run, or keys that have nothing in common with those so far, begin a piece of their own.
        if level is not None and level[r] - r >= block and (level[r - 1] == r):
            return r
        apart = first[r] >= high or end[r] <= low
        if apart and r - i >= block // 4:
            return r
        low, high = min(low, first[r]), max(high, end[r])
    return min(i + block, n)


def _runs(same: NDArray[np.bool_]) -> Rows:
    """For each of n queries, the first later one that ends its run; same[i] says that i + 1 continues the run of i."""
    n = len(same) + 1
    breaks = np.append(np.flatnonzero(~same) + 1, n)
    return np.asarray(breaks[np.searchsorted(breaks, np.arange(n), side="right")])
