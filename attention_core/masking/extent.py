"""The keys that each query may attend as one interval [first, end): what lets a kernel skip the rest.

An extent costs memory linear in the lengths. Where it is exact the interval is the set; otherwise it contains it.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor


class Extent(NamedTuple):
    """Query i attends keys within [first_i, end_i) only; nothing where first_i >= end_i."""

    first: Int[Tensor, "*B n_q"]
    end: Int[Tensor, "*B n_q"]
    exact: bool  # whether it attends all of them

    def __and__(self, other: Extent) -> Extent:
        """Of the pairs that both allow: intervals intersect in intervals."""
        first, end = torch.maximum(self.first, other.first), torch.minimum(self.end, other.end)
        return Extent(first, end, self.exact and other.exact)

    def __or__(self, other: Extent) -> Extent:
        """Of the pairs that either allows: the smallest interval around both, exact where they touch."""
        (a, b), (c, d) = (self.first, self.end), (other.first, other.end)
        nothing, or_nothing = a >= b, c >= d
        first = torch.where(nothing, c, torch.where(or_nothing, a, torch.minimum(a, c)))
        end = torch.where(nothing, d, torch.where(or_nothing, b, torch.maximum(b, d)))
        touching = nothing | or_nothing | ((a <= d) & (c <= b))
        return Extent(first, end, self.exact and other.exact and bool(touching.all()))


def extent_of_pairs(attend: Bool[Tensor, "*batch n_q n_kv"]) -> Extent:
    """The tightest extent of a set of pairs that is written out; over the heads of one sequence together.

    Args: attend (n_q, n_kv) or (B, H, n_q, n_kv). Returns: first, end (n_q,) or (B, n_q).
    Example:
        >>> found = extent_of_pairs(torch.ones(3, 3, dtype=torch.bool).tril())
        >>> found.first.tolist(), found.end.tolist()
        ([0, 0, 0], [1, 2, 3])
    """
    n_kv = attend.shape[-1]
    if not n_kv:
        nothing = torch.zeros(attend.shape[:-1], dtype=torch.int64)
        nothing = nothing.amin(-2) if attend.ndim == 4 and attend.shape[1] else nothing.reshape(*attend.shape[:-3], -1)
        return Extent(nothing, nothing, True)
    some = attend.any(-1)
    number = attend.sum(-1)
    marks = attend.to(torch.uint8)  # argmax has no bool form; the first of equal values is taken
    first = torch.where(some, marks.argmax(-1), n_kv)
    end = torch.where(some, n_kv - marks.flip(-1).argmax(-1), 0)
    exact = bool((number == (end - first).clamp(min=0)).all())
    if attend.ndim == 4:
        lowest, highest = first.amin(1), end.amax(1)
        exact = exact and bool((first == lowest[:, None]).all() and (end == highest[:, None]).all())
        first, end = lowest, highest
    return Extent(first.cpu(), end.cpu(), exact)


def extent_of_segments(ids: Int[Tensor, "B n"], start: int, n_q: int, n_kv: int) -> Extent:
    """From the first to the last of the first n_kv tokens that has the query's id; the query stands at start + i.

    Example:
        >>> seen = extent_of_segments(torch.tensor([[7, 7, 8]]), 0, 3, 3)
        >>> seen.first.tolist(), seen.end.tolist()
        ([[0, 0, 2]], [[2, 2, 3]])
    """
    ids, B = ids.cpu(), ids.shape[0]
    _, named = torch.unique(ids, return_inverse=True)
    U = int(named.max()) + 1 if named.numel() else 0
    j = torch.arange(n_kv).expand(B, n_kv)
    keys = named[:, :n_kv]
    first = torch.full((B, U), n_kv).scatter_reduce(1, keys, j, "amin")
    last = torch.full((B, U), -1).scatter_reduce(1, keys, j, "amax")
    number = torch.zeros((B, U), dtype=torch.int64).scatter_add(1, keys, torch.ones_like(j))
    mine = named[:, start : start + n_q]
    first, end, number = first.gather(1, mine), last.gather(1, mine) + 1, number.gather(1, mine)
    return Extent(first, end, bool((number == (end - first).clamp(min=0)).all()))
