"""How canonical arrays (B, H, n, d) lie in the target's own axes, and back.

A target of 3 axes (B, n, d) gets the problems of all heads along its batch axis, one of 2 axes (n, d) a single problem.
Kernels for serving name their axes by letters: "bhnd" against "nhd" or "bnhd".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from attention_core.conformance.subjects.evidence import Evidence, NotApplicable, Result, Shown, Violation
from attention_core.conformance.worker.exchange import NDArray, Request, Value

LAYOUTS: Mapping[str, tuple[int, int, int, int]] = {
    "bhnd": (0, 1, 2, 3), "bnhd": (0, 2, 1, 3), "bne": (0, 2, 1, 3), "nbhd": (2, 0, 1, 3), "nbe": (2, 0, 1, 3),
    "bhdn": (0, 1, 3, 2),
}  # fmt: skip
"""The canonical axis (0 batch, 1 head, 2 token, 3 feature) at each of the target's places."""
JOINED = ("bne", "nbe")
"""Layouts whose heads are joined: the last two places are one axis."""


@dataclass(frozen=True)
class Axes:
    """The axes of an array on the target's side.

    Args:
        count: 4 for (B, H, n, d) or what `layout` says; 3 for (B, n, d), with layout "nbhd" (n, B, d), with "bhdn"
            (B, d, n); 2 for (n, d), with "bhdn" (d, n).
        layout: "bhnd", "bnhd", "nbhd" or "bhdn"; an output may also be "bne", (B, n, H d), or "nbe", (n, B, H d).

    Example:
        >>> Axes(3).to_target(np.zeros((2, 3, 5, 7))).shape
        (6, 5, 7)
        >>> Axes(4, "nbhd").to_target(np.zeros((2, 3, 5, 7))).shape
        (5, 2, 3, 7)
    """

    count: int = 4
    layout: str = "bhnd"

    @property
    def tokens_first(self) -> bool:
        """Whether the axis of tokens stands before that of sequences."""
        return LAYOUTS[self.layout][0] == 2

    @property
    def features_first(self) -> bool:
        """Whether the axis of features stands before that of tokens."""
        return LAYOUTS[self.layout][-1] == 2

    def order(self, rank: int) -> tuple[int, ...]:
        """The canonical axis at each of the target's places, for a canonical array of a rank; 4 axes alone.

        Raises:
            NotApplicable: tokens come first, and there is more than one batch axis.
        """
        if rank < 3:
            return (1, 0) if rank == 2 and self.features_first else tuple(range(rank))
        if rank > 4 and self.tokens_first:
            raise NotApplicable("the target takes exactly one batch axis")
        if rank == 3:  # one problem: no axis of sequences
            return tuple(axis - 1 for axis in LAYOUTS[self.layout] if axis)
        return (*range(rank - 4), *(rank - 4 + axis for axis in LAYOUTS[self.layout]))

    def joins(self, rank: int) -> bool:
        """Whether heads and their features share an axis in the target's array."""
        return self.count == 4 and self.layout in JOINED and rank >= 3

    def to_target(self, values: NDArray) -> NDArray:
        """A canonical array in the target's axes.

        Raises:
            NotApplicable: it has more problems, or other axes, than the target takes.
        """
        shape = values.shape
        if self.count == 4:
            turned = values.transpose(self.order(values.ndim))
            return turned.reshape(*turned.shape[:-2], shape[-3] * shape[-1]) if self.joins(values.ndim) else turned
        if values.ndim < 3:
            raise NotApplicable(f"the target takes arrays of {self.count} axes")
        if self.count == 3:
            joined = values.reshape(shape[0] * shape[1], *shape[2:])
            return self._turn(joined)
        if shape[0] != 1 or shape[1] != 1:
            raise NotApplicable("the target takes one problem at a time")
        return self._turn(values.reshape(shape[2:]))

    def places(self, rank: int) -> tuple[int, ...]:
        """The axis of (B, n, d) or (n, d) at each of the target's places."""
        axes = tuple(range(rank))
        if self.features_first:
            return (*axes[:-2], axes[-1], axes[-2])
        return (1, 0, *axes[2:]) if self.tokens_first else axes

    def _turn(self, values: NDArray) -> NDArray:
        """Values of fewer than 4 axes from canonical order to the target's, or back."""
        if self.features_first:
            return values.swapaxes(-1, -2)
        return values.swapaxes(0, 1) if self.tokens_first else values

    def from_target(self, values: NDArray, shape: tuple[int, ...]) -> NDArray:
        """An array in the target's axes as the canonical array of a shape."""
        if self.count == 4:
            order = self.order(len(shape))
            return values.reshape([shape[axis] for axis in order]).transpose(np.argsort(order))
        return self._turn(values).reshape(shape)

    def place(self, index: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
        """Where the element of a canonical array of a shape lies on the target's side."""
        if self.count == 4:
            turned = tuple(index[axis] for axis in self.order(len(index)))
            return (*turned[:-2], turned[-2] * shape[-1] + turned[-1]) if self.joins(len(index)) else turned
        inner = index[2:][::-1] if self.features_first else index[2:]
        if self.count == 2:
            return inner
        problem, token = index[0] * shape[1] + index[1], index[2]
        return (token, problem, *index[3:]) if self.tokens_first else (problem, *inner)

    def canonical(self, place: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
        """The inverse of `place`."""
        if self.count == 4:
            if self.joins(len(shape)):
                place = (*place[:-1], *divmod(place[-1], shape[-1]))
            order = self.order(len(place))
            return tuple(place[order.index(axis)] for axis in range(len(place)))
        if self.features_first:
            place = (*place[:-2], place[-1], place[-2])
        if self.count == 2:
            return (0, 0, *place)
        problem, token = (place[1], place[0]) if self.tokens_first else place[:2]
        return (*divmod(problem, shape[1]), token, *place[2:])

    def mask_to_target(self, mask: NDArray, heads: tuple[int, int]) -> NDArray:
        """A mask for scores of (batch, heads) problems; of two axes it fits as it is.

        Raises:
            NotApplicable: it holds more than one mask for a target of 2 axes.
        """
        if self.count == 4 or mask.ndim <= 2:
            return mask
        leading, matrix = mask.shape[:-2], mask.shape[-2:]
        if self.count == 2:
            if int(np.prod(leading)) != 1:
                raise NotApplicable("the target takes one problem at a time")
            return mask.reshape(matrix)
        if all(n in (1, whole) for n, whole in zip(reversed(leading), reversed(heads), strict=False)):
            mask = np.broadcast_to(mask, (*heads, *matrix))
        return np.ascontiguousarray(mask).reshape(int(np.prod(mask.shape[:-2])), *matrix)


@dataclass(frozen=True)
class Arrangement:
    """Canonical axes and the target's own, which leave out axes of size 1.

    Example:
        >>> Arrangement("bhnd", "nhd").to_target(np.zeros((1, 2, 3, 4))).shape
        (3, 2, 4)
    """

    canonical: str
    own: str

    def to_target(self, values: NDArray) -> NDArray:
        """The values in the target's order of axes."""
        missing = tuple(i for i, axis in enumerate(self.canonical) if axis not in self.own)
        kept = [axis for axis in self.canonical if axis in self.own]
        return np.squeeze(values, axis=missing).transpose([kept.index(axis) for axis in self.own])

    def from_target(self, values: NDArray) -> NDArray:
        """The inverse of `to_target`."""
        kept = [axis for axis in self.canonical if axis in self.own]
        moved = values.transpose([self.own.index(axis) for axis in kept])
        missing = tuple(i for i, axis in enumerate(self.canonical) if axis not in self.own)
        return np.expand_dims(moved, missing)

    def place(self, index: tuple[int, ...]) -> tuple[int, ...]:
        """A canonical index as the target's."""
        return tuple(index[self.canonical.index(axis)] for axis in self.own)

    def back(self, index: tuple[int, ...]) -> tuple[int, ...]:
        """A target's index as the canonical one."""
        return tuple(index[self.own.index(axis)] if axis in self.own else 0 for axis in self.canonical)

    def result(self, value: Value, shape: tuple[int, ...], request: Request, quantity: str, what: str) -> Result:
        """A returned array in canonical order, its shape checked against the canonical one."""
        expected = self.to_target(np.broadcast_to(0.0, shape)).shape
        if value.shape != expected:
            message = f"{what}: got shape {value.shape}, but should be {expected}"
            raise Violation(message, Evidence((Shown(request, quantity),), kind="shape", event="wrong shape"))
        values = self.from_target(value.values.astype(np.float64))
        return Result(values, request, quantity, self.place, back=self.back)


def order_of_heads(grouping: str, heads: int, kv_heads: int) -> NDArray | None:
    """The canonical query head at each place of the target's; None where they are the same.

    Canonical query head h shares key head h // g. A target that shares by h mod H_kv has that head at the place
    (h mod g) H_kv + h // g.

    Example:
        >>> order_of_heads("modular", 6, 2).tolist(), order_of_heads("interleaved", 6, 2)
        ([0, 3, 1, 4, 2, 5], None)
    """
    if grouping == "interleaved" or not 0 < kv_heads < heads or heads % kv_heads:
        return None
    return np.arange(heads).reshape(kv_heads, heads // kv_heads).T.reshape(-1)


def put_heads_in_order(result: Result, axis: int, order: NDArray | None) -> Result:
    """A result of the target's order of query heads, which lie along `axis`, in the canonical one."""
    if order is None:
        return result
    heads = np.argsort(order)
    return replace(result, values=result.values.take(heads, axis), heads=heads.tolist(), head_axis=axis)
