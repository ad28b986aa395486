"""How the axes of an array lie in a target's own arguments, each axis a letter: "bhnd" against "nhd" or "bnhd"."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attention_core.conformance.subjects.evidence import Evidence, Result, Shown, Violation
from attention_core.conformance.worker.exchange import NDArray, Request, Value


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
