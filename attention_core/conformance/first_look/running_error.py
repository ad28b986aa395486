"""Numbers with a bound on the error that a kernel in some dtype may make, carried along operation by operation.

Each operation adds its own rounding to what its inputs bring along (Higham, "Accuracy and Stability of Numerical
Algorithms", section 3.3). Sums may be taken in any order: a sum of n terms has n roundings a term.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from attention_core.conformance.budgets.budget import UNIT_ROUNDOFF
from attention_core.conformance.budgets.error_rows import gamma
from attention_core.conformance.worker.exchange import NDArray

FUNCTION_ROUNDINGS = 4
"""Units in the last place that exp, tanh and the like may be off, as the laws' budgets allow."""


@dataclass(frozen=True)
class Tracked:
    """Float64 values, and how far a computation in `dtype` may be from them, entry by entry.

    Example:
        >>> one = Tracked.exact(np.ones((2, 2)), "float32")
        >>> float((one @ one).value[0, 0]), bool((one @ one).error[0, 0] < 1e-5)
        (2.0, True)
    """

    value: NDArray
    error: NDArray
    dtype: str

    @staticmethod
    def exact(values: NDArray, dtype: str) -> Tracked:
        """Inputs, which carry no error."""
        return Tracked(np.asarray(values, dtype=np.float64), np.zeros(np.shape(values)), dtype)

    @property
    def unit(self) -> float:
        """The unit roundoff, that of the float64 values included."""
        return UNIT_ROUNDOFF[self.dtype] + UNIT_ROUNDOFF["float64"]

    @property
    def size(self) -> NDArray:
        """The largest magnitude an entry may have."""
        return np.asarray(np.abs(self.value) + self.error)

    def round(self, value: NDArray, error: NDArray, roundings: int = 1) -> Tracked:
        """A result whose own computation makes some roundings."""
        with np.errstate(all="ignore"):
            total = error + gamma(roundings, self.unit) * (np.abs(value) + error)
        return Tracked(value, np.where(np.isnan(total), np.inf, total), self.dtype)

    def __matmul__(self, other: Tracked) -> Tracked:
        count = self.value.shape[-1] + 2
        product = self.size @ other.size
        carried = product - np.abs(self.value) @ np.abs(other.value)
        own = gamma(count, self.unit) * product
        return Tracked(self.value @ other.value, np.maximum(carried, 0) + own, self.dtype)

    def __add__(self, other: Tracked) -> Tracked:
        return self.round(self.value + other.value, self.error + other.error)

    def __sub__(self, other: Tracked) -> Tracked:
        return self.round(self.value - other.value, self.error + other.error)

    def __mul__(self, other: Tracked) -> Tracked:
        error = self.size * other.size - np.abs(self.value) * np.abs(other.value)
        return self.round(self.value * other.value, np.maximum(error, 0))

    def __truediv__(self, other: Tracked) -> Tracked:
        with np.errstate(all="ignore"):
            value = self.value / other.value
            low = np.abs(other.value) - other.error
            error = np.where(low > 0, (self.error + np.abs(value) * other.error) / low, np.inf)
        return self.round(value, error)

    def times(self, factor: float) -> Tracked:
        """The entries times a number that is itself rounded."""
        return self.round(factor * self.value, abs(factor) * self.error, 3)

    def of(self, function: Callable[[NDArray], NDArray]) -> Tracked:
        """A monotone function of the entries: what it is at the ends of each entry's interval bounds its error."""
        with np.errstate(all="ignore"):
            value = function(self.value)
            ends = (function(self.value - self.error), function(self.value + self.error))
            error = np.maximum(*(np.abs(end - value) for end in ends))
        return self.round(value, error, FUNCTION_ROUNDINGS)

    def sum(self, axis: int = -1) -> Tracked:
        """The sum along an axis, which stays."""
        size = self.size.sum(axis=axis, keepdims=True)
        own = gamma(self.value.shape[axis] + 1, self.unit) * size
        return Tracked(
            self.value.sum(axis=axis, keepdims=True), self.error.sum(axis=axis, keepdims=True) + own, self.dtype
        )

    def only(self, allowed: NDArray) -> Tracked:
        """Exact zeros outside of what is allowed."""
        return Tracked(np.where(allowed, self.value, 0.0), np.where(allowed, self.error, 0.0), self.dtype)

    def transpose(self) -> Tracked:
        """The last two axes swapped."""
        return Tracked(self.value.swapaxes(-1, -2), self.error.swapaxes(-1, -2), self.dtype)

    def agrees(self, got: NDArray) -> bool:
        """Whether all numbers lie within the bound, where it is finite, which it is somewhere; NaN lies within none."""
        judged = np.isfinite(self.error)
        with np.errstate(all="ignore"):
            return bool(judged.any() and (np.abs(got - self.value) <= self.error)[judged].all())
