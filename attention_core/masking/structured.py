"""Structured masks: causal, sliding window, prefix, segments, padding; they combine with & and |.

A mask is a small tree that says which pairs (query i, key j) are attended, so a kernel can look at its
structure; `.dense(n_q, n_kv)` writes it out. Query i stands at position i + o among the keys: o = 0
(top_left) or o = n_kv - n_q (bottom_right, as when the last queries are decoded against a cache).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attention_core.masking.checks import Align, Integers, check_sizes, checked_align, count, integers, offset
from attention_core.masking.extent import Extent, extent_of_pairs, extent_of_segments

ALL = slice(None)


class Mask(ABC):
    """A set of pairs (i, j): query i may attend key j. Combine with & (both allow) and | (either allows)."""

    @abstractmethod
    def dense(self, n_q: int, n_kv: int, device: torch.device | None = None) -> Bool[Tensor, "..."]:
        """Write the set out: bool, True = attend, (n_q, n_kv), or (B, 1, n_q, n_kv) where sequences differ.

        Raises: ValueError where the sizes contradict the mask.

        Example:
            >>> causal().dense(2, 3).tolist()
            [[True, False, False], [True, True, False]]
        """

    def part(
        self, n_q: int, n_kv: int, rows: slice = ALL, keys: slice = ALL, device: torch.device | None = None
    ) -> Bool[Tensor, "..."]:
        """The same for a run of the queries and a run of the keys alone.

        Example:
            >>> causal().part(4, 4, slice(2, 3), slice(0, 2))
            tensor([[True, True]])
        """
        return self.dense(n_q, n_kv, device)[..., rows, keys]

    def extent(self, n_q: int, n_kv: int) -> Extent:
        """The interval of keys outside which each query attends nothing.

        Example:
            >>> found = causal().extent(2, 3)
            >>> found.first.tolist(), found.end.tolist()
            ([0, 0], [1, 2])
        """
        return extent_of_pairs(self.dense(n_q, n_kv))

    def __getstate__(self) -> dict[str, object]:
        """What is copied and pickled: not what was worked out, and kept, for earlier calls."""
        return {name: found for name, found in self.__dict__.items() if not name.startswith("_")}

    def __and__(self, other: Mask) -> Mask:
        return _combine(And, self, other)

    def __or__(self, other: Mask) -> Mask:
        return _combine(Or, self, other)


class _ByParts(Mask):
    """A mask whose parts are written out without the whole of it."""

    def dense(self, n_q: int, n_kv: int, device: torch.device | None = None) -> Bool[Tensor, "..."]:
        return self.part(n_q, n_kv, device=device)

    @abstractmethod
    def part(
        self, n_q: int, n_kv: int, rows: slice = ALL, keys: slice = ALL, device: torch.device | None = None
    ) -> Bool[Tensor, "..."]:
        """Write out a run of the queries and a run of the keys."""


@dataclass(frozen=True)
class Causal(_ByParts):
    """{(i, j) : j <= i + o}."""

    align: Align

    def part(
        self, n_q: int, n_kv: int, rows: slice = ALL, keys: slice = ALL, device: torch.device | None = None
    ) -> Bool[Tensor, "n_q n_kv"]:
        i, j = _positions(n_q, n_kv, self.align, rows, keys, device)
        return j <= i

    def extent(self, n_q: int, n_kv: int) -> Extent:
        i = torch.arange(n_q) + offset(n_q, n_kv, self.align)
        return Extent(torch.zeros_like(i), (i + 1).clamp(0, n_kv), True)


@dataclass(frozen=True)
class SlidingWindow(_ByParts):
    """{(i, j) : i + o - W < j <= i + o}."""

    W: int
    align: Align

    def part(
        self, n_q: int, n_kv: int, rows: slice = ALL, keys: slice = ALL, device: torch.device | None = None
    ) -> Bool[Tensor, "n_q n_kv"]:
        i, j = _positions(n_q, n_kv, self.align, rows, keys, device)
        return (i - self.W < j) & (j <= i)

    def extent(self, n_q: int, n_kv: int) -> Extent:
        i = torch.arange(n_q) + offset(n_q, n_kv, self.align)
        return Extent((i - self.W + 1).clamp(0, n_kv), (i + 1).clamp(0, n_kv), True)


@dataclass(frozen=True)
class Window(_ByParts):
    """{(i, j) : i + o - left <= j <= i + o + right}; -1 for any number."""

    left: int
    right: int
    align: Align

    def part(
        self, n_q: int, n_kv: int, rows: slice = ALL, keys: slice = ALL, device: torch.device | None = None
    ) -> Bool[Tensor, "n_q n_kv"]:
        i, j = _positions(n_q, n_kv, self.align, rows, keys, device)
        low = i - self.left if self.left >= 0 else torch.zeros_like(i)
        high = i + self.right if self.right >= 0 else torch.full_like(i, n_kv)
        return (low <= j) & (j <= high)

    def extent(self, n_q: int, n_kv: int) -> Extent:
        i = torch.arange(n_q) + offset(n_q, n_kv, self.align)
        first = (i - self.left).clamp(0, n_kv) if self.left >= 0 else torch.zeros_like(i)
        end = (i + self.right + 1).clamp(0, n_kv) if self.right >= 0 else torch.full_like(i, n_kv)
        return Extent(first, end, True)


@dataclass(frozen=True)
class Prefix(_ByParts):
    """{(i, j) : j < P or j <= i + o}."""

    P: int
    align: Align

    def part(
        self, n_q: int, n_kv: int, rows: slice = ALL, keys: slice = ALL, device: torch.device | None = None
    ) -> Bool[Tensor, "n_q n_kv"]:
        i, j = _positions(n_q, n_kv, self.align, rows, keys, device)
        return (j < self.P) | (j <= i)

    def extent(self, n_q: int, n_kv: int) -> Extent:
        i = torch.arange(n_q) + offset(n_q, n_kv, self.align)
        return Extent(torch.zeros_like(i), (i + 1).clamp(min(self.P, n_kv), n_kv), True)


@dataclass(frozen=True, eq=False)
class Segments(_ByParts):
    """{(b, i, j) : ids_b[i + o] = ids_b[j]}."""

    ids: Int[Tensor, "B n"]
    align: Align

    def part(
        self, n_q: int, n_kv: int, rows: slice = ALL, keys: slice = ALL, device: torch.device | None = None
    ) -> Bool[Tensor, "B 1 n_q n_kv"]:
        start, ids = self._start(n_q, n_kv), self.ids.to(device)
        return (ids[:, start : start + n_q][:, rows, None] == ids[:, None, :n_kv][..., keys])[:, None]

    def extent(self, n_q: int, n_kv: int) -> Extent:
        return extent_of_segments(self.ids, self._start(n_q, n_kv), n_q, n_kv)

    def _start(self, n_q: int, n_kv: int) -> int:
        start, n = offset(n_q, n_kv, self.align), self.ids.shape[1]
        if start < 0 or max(start + n_q, n_kv) > n:
            raise ValueError(f"ids of {n} tokens do not cover n_q = {n_q}, n_kv = {n_kv}, {self.align}")
        return start


@dataclass(frozen=True, eq=False)
class Padding(_ByParts):
    """{(b, i, j) : j < lengths_b}."""

    lengths: Int[Tensor, " B"]

    def part(
        self, n_q: int, n_kv: int, rows: slice = ALL, keys: slice = ALL, device: torch.device | None = None
    ) -> Bool[Tensor, "B 1 n_q n_kv"]:
        self._check(n_q, n_kv)
        lengths = self.lengths.to(device)
        real = torch.arange(n_kv, device=lengths.device)[keys] < lengths[:, None]
        return real[:, None, None, :].repeat(1, 1, len(range(n_q)[rows]), 1)

    def extent(self, n_q: int, n_kv: int) -> Extent:
        self._check(n_q, n_kv)
        end = self.lengths.cpu()[:, None].expand(-1, n_q)
        return Extent(torch.zeros_like(end), end, True)

    def _check(self, n_q: int, n_kv: int) -> None:
        check_sizes(n_q, n_kv)
        if bool((self.lengths > n_kv).any()):
            raise ValueError(f"a length of {int(self.lengths.max())} exceeds n_kv = {n_kv}")


@dataclass(frozen=True, eq=False)
class _Pair(_ByParts):
    left: Mask
    right: Mask

    def _parts(
        self, n_q: int, n_kv: int, rows: slice, keys: slice, device: torch.device | None
    ) -> tuple[Tensor, Tensor]:
        left, right = (m.part(n_q, n_kv, rows, keys, device) for m in (self.left, self.right))
        _same_sequences(left, right, 4)
        return left, right

    def _extents(self, n_q: int, n_kv: int) -> tuple[Extent, Extent]:
        left, right = self.left.extent(n_q, n_kv), self.right.extent(n_q, n_kv)
        _same_sequences(left.first, right.first, 2)
        return left, right


class And(_Pair):
    """The pairs that both masks allow."""

    def part(
        self, n_q: int, n_kv: int, rows: slice = ALL, keys: slice = ALL, device: torch.device | None = None
    ) -> Bool[Tensor, "..."]:
        left, right = self._parts(n_q, n_kv, rows, keys, device)
        return left & right

    def extent(self, n_q: int, n_kv: int) -> Extent:
        left, right = self._extents(n_q, n_kv)
        return left & right


class Or(_Pair):
    """The pairs that either mask allows."""

    def part(
        self, n_q: int, n_kv: int, rows: slice = ALL, keys: slice = ALL, device: torch.device | None = None
    ) -> Bool[Tensor, "..."]:
        left, right = self._parts(n_q, n_kv, rows, keys, device)
        return left | right

    def extent(self, n_q: int, n_kv: int) -> Extent:
        left, right = self._extents(n_q, n_kv)
        return left | right


def causal(align: Align = "top_left") -> Mask:
    """Keys not later than the query: {(i, j) : j <= i + o}.

    Raises: ValueError for an unknown align.
    Example:
        >>> causal("bottom_right").dense(1, 3)
        tensor([[True, True, True]])

    Source: Vaswani et al., "Attention Is All You Need" (2017), section 3.2.3.
    """
    return Causal(checked_align(align))


def sliding_window(W: int, align: Align = "top_left") -> Mask:
    """The last W keys up to the query's own: {(i, j) : i + o - W < j <= i + o}; exactly W in the interior.

    Args: W >= 1, a number of keys, the query's own included. Raises: ValueError for W < 1, unknown align.
    Example:
        >>> sliding_window(1).dense(2, 2)
        tensor([[ True, False], [False, True]])

    Source: Beltagy et al., "Longformer" (2020), section 3.1, one-sided.
    """
    return SlidingWindow(count("W", W, least=1), checked_align(align))


def window(left: int, right: int, align: Align = "top_left") -> Mask:
    """Keys to either side of the query's own: {(i, j) : i + o - left <= j <= i + o + right}.

    Args: left, right: numbers of keys, 0 or more; -1 for any number. Raises: ValueError for others, unknown align.
    Example:
        >>> window(0, 1).dense(2, 3)
        tensor([[ True,  True, False],
                [False,  True,  True]])

    Source: Beltagy et al., "Longformer" (2020), section 3.1; Dao, flash-attention (window_size).
    """
    return Window(count("left", left, least=-1), count("right", right, least=-1), checked_align(align))


def prefix(P: int, align: Align = "top_left") -> Mask:
    """Both directions within the first P keys, causal after: {(i, j) : j < P or j <= i + o}.

    Args: P >= 0, a number of keys. Raises: ValueError for P < 0, unknown align.

    Example:
        >>> bool((prefix(0).dense(3, 3) == causal().dense(3, 3)).all())
        True

    Source: Raffel et al., "T5" (2020), section 3.2.1.
    """
    return Prefix(count("P", P, least=0), checked_align(align))


def segments(ids: Integers, align: Align = "top_left") -> Mask:
    """Query and key of one segment (packed documents): {(b, i, j) : ids_b[i + o] = ids_b[j]}.

    Args: ids (B, n) integers, n at least n_q and n_kv; a query takes the id at its position.
    Raises: ValueError for ids that are not integers (B, n), unknown align; dense: where n is too short.
    Example:
        >>> segments([[7, 7, 8]]).dense(3, 3)[0, 0, 2]
        tensor([False, False, True])

    Source: Raffel et al., "T5" (2020), section 2.3 packs documents; the mask keeps them apart.
    """
    return Segments(integers("ids", ids, axes=2), checked_align(align))


def padding(lengths: Integers) -> Mask:
    """Only the first lengths_b keys of sequence b are real: {(b, i, j) : j < lengths_b}.

    Args: lengths (B,) integers >= 0. Raises: ValueError for others; dense: where one exceeds n_kv.
    Example:
        >>> padding([1, 2]).dense(1, 2).tolist()
        [[[[True, False]]], [[[True, True]]]]
    """
    checked = integers("lengths", lengths, axes=1)
    if bool((checked < 0).any()):
        raise ValueError(f"lengths must not be negative, got {checked.tolist()}")
    return Padding(checked)


def _positions(
    n_q: int, n_kv: int, align: Align, rows: slice, keys: slice, device: torch.device | None
) -> tuple[Tensor, Tensor]:
    """Positions of the queries as a column and of the keys as a row."""
    start = offset(n_q, n_kv, align)
    return torch.arange(start, start + n_q, device=device)[rows, None], torch.arange(n_kv, device=device)[keys]


def _same_sequences(left: Tensor, right: Tensor, axes: int) -> None:
    if left.ndim == right.ndim == axes and left.shape[0] != right.shape[0]:
        raise ValueError(f"masks of {left.shape[0]} and {right.shape[0]} sequences do not combine")


def _combine(kind: type[And] | type[Or], left: Mask, right: object) -> Mask:
    # Without this, `mask & tensor` would fail far from here, when the mask is written out.
    if not isinstance(right, Mask):
        raise TypeError(f"a structured mask combines with structured masks, got {type(right).__name__}")
    return kind(left, right)
