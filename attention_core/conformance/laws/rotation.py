"""What rotary positions are compared with: the rotation in float64, and what a correct one may differ from it.

Angles may be computed in float32 (as all public implementations do), never in less.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from attention_core import oracle
from attention_core.conformance.budgets.budget import UNIT_ROUNDOFF
from attention_core.conformance.subjects.evidence import Result
from attention_core.conformance.subjects.parameter_case import ParameterCase, ParameterSubject
from attention_core.conformance.worker.exchange import NDArray, array

SINGLE = UNIT_ROUNDOFF["float32"]


class Rotary(ParameterSubject):
    """A rotary embedding with its declared pairing and base."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._first: dict[tuple[int, ...], Result] = {}

    def past(self, x: NDArray) -> list[Result]:
        """The first call of all, and the first of this length and head size: what a table may have been built for."""
        return [self._first[key] for key in ((), x.shape[-2:]) if key in self._first]

    @property
    def pairing(self) -> str:
        return str(self.parameters.get("pairing", "half"))

    @property
    def base(self) -> float:
        return float(self.parameters.get("base", 10000.0))

    @property
    def negative(self) -> bool:
        """Whether positions below 0 are tested."""
        return int(self.parameters.get("min_position", -1)) < 0

    def to_target_axes(self, x: NDArray) -> NDArray:
        """(*batch, H, n, d) in the order of axes that the target takes (its own inverse)."""
        return x if self.implementation.layout == "bhnd" or x.ndim < 3 else x.swapaxes(-3, -2)

    def truth(self, x: NDArray, positions: NDArray) -> NDArray:
        """The float64 rotation."""
        return oracle.rotary(x, positions, self.base, self.pairing)

    def rotate(
        self, case: ParameterCase, x: NDArray, positions: NDArray, view: str = "contiguous", **fields: Any
    ) -> Result:
        """The target's rotation; `view` says how the input lies in memory."""
        reordered = self.to_target_axes(x)
        sent = array(reordered, case.dtype, view)
        result = self.call(sent, positions.astype(np.int64), dtype=case.dtype, shape=reordered.shape, **fields)
        if reordered is not x:
            result = replace(
                result,
                values=self.to_target_axes(result.values),
                place=swap_heads_and_tokens,
                back=swap_heads_and_tokens,
            )
        for key in ((), x.shape[-2:]):
            self._first.setdefault(key, result)
        return result

    def gradient(self, case: ParameterCase, x: NDArray, positions: NDArray, down: NDArray) -> Result:
        """The gradient of the input for a cotangent."""
        cotangent = array(self.to_target_axes(down), case.dtype)
        sent = self.to_target_axes(x)
        found = self.gradient_of(sent, positions.astype(np.int64), dtype=case.dtype, cotangent_=cotangent)
        if sent is x:
            return found
        return replace(
            found, values=self.to_target_axes(found.values), place=swap_heads_and_tokens, back=swap_heads_and_tokens
        )

    def bound(self, case: ParameterCase, x: NDArray, positions: NDArray) -> NDArray:
        """Error of a correct rotation with float32 angles.

        The pair turns by an angle that is off by at most a (`angle_error`), its cosine and sine are off by two more u,
        and it is rounded: (a + 4 u) (|x_a| + |x_b|); the result is rounded to the dtype (u_out), its cosine and sine
        and their products possibly too (3 u_out).
        """
        unit, d = UNIT_ROUNDOFF[case.dtype], x.shape[-1]
        angle = angle_error(positions[..., None], d, self.base) + 4 * SINGLE
        if self.pairing == "half":
            size = np.abs(x[..., : d // 2]) + np.abs(x[..., d // 2 :])
            error = (angle + 4 * unit) * size
            return np.concatenate([error, error], -1) + 2.0**-149
        size = np.abs(x[..., ::2]) + np.abs(x[..., 1::2])
        return np.repeat((angle + 4 * unit) * size, 2, -1) + 2.0**-149


def swap_heads_and_tokens(index: tuple[int, ...]) -> tuple[int, ...]:
    """The place of an element after heads and tokens have changed places."""
    return (*index[:-3], index[-2], index[-3], index[-1])


def angle_error(positions: NDArray, d: int, base: float) -> NDArray:
    """Error of float32 angles t = p base^(-x), x = 2c/d, of the pairs c = 0, 1, ... of d features.

    Written as exp(-(x ln base)), the exponent holds a rounded ln base / d, is a rounded product, and may be rounded
    once more: three roundings of x ln base, each a relative error of that size in the power. The power itself (2 u, as
    libraries promise), a reciprocal, the product with a position and the position's own rounding add 5 u:
    |t' - t| <= (5 + 3 x ln base) u |t|, second orders being below one more u.
    """
    x = 2.0 * np.arange((d + 1) // 2) / max(d, 1)
    return np.asarray((6 + 3 * x * math.log(base)) * SINGLE * np.abs(positions) * base**-x)
