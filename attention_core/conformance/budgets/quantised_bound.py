"""What reading quantised keys and values adds to the budget of attention.

A kernel may multiply stored numbers by their scales before a product or after it, and take a zero point off before or
after. Tags in comments name steps of derivations/quantised.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attention_core.conformance.budgets.error_rows import Format, Stored, float_format, gamma
from attention_core.conformance.budgets.rounding import Array

ROUNDINGS = 3
"""Of a scale to the kernel's dtype, of a product with it, and of what is stored before that product."""
OF_ZERO = 3
"""Of a zero point's product with a sum, of that sum and of a difference."""


@dataclass(frozen=True)
class Numbers:
    """An operand as it is stored: numbers (B, H, n, c), scale and zero point, broadcastable to them."""

    numbers: Array
    scale: Array | float = 1.0
    zero: Array | float = 0.0

    @property
    def values(self) -> Array:
        """What the numbers stand for: exact in float64, where scales are of float32."""
        return np.asarray((self.numbers - self.zero) * self.scale)

    @property
    def is_plain(self) -> bool:
        """Whether the numbers are the values."""
        return bool(np.all(self.scale == 1.0) and np.all(self.zero == 0.0))


def stored_errors(query: Numbers, key: Numbers, value: Numbers, *, dtype: str, accumulate: str) -> Stored:
    """The errors that `forward_bound` adds for operands that are stored numbers times scales.

    Args: query, key, value: the operands; dtype, accumulate: as of `forward_bound`.
    Raises: ValueError for an unknown accumulate.
    Source: derivations/quantised.md (dequantised, stored-terms, zero-apart).
    """
    fmt = float_format(dtype, accumulate)
    of_query, of_key, of_value = (relative_error(x, fmt) for x in (query, key, value))
    lost = np.zeros((1, 1, 1, 1))
    if not value.is_plain:
        lost = fmt.flush_between * (np.abs(value.numbers) + np.abs(value.zero)).sum(
            axis=-2, keepdims=True
        )  # (stored-underflow)
    score = (1 + of_query) * (1 + of_key) - 1  # (stored-terms)
    return Stored(size_of(key, fmt), size_of(value, fmt), score, of_value, lost)


def relative_error(operand: Numbers, fmt: Format) -> float:
    """By how much a dequantised number, or a product with one, may be off for its scale and zero point."""
    if operand.is_plain:
        return 0.0
    count = ROUNDINGS + OF_ZERO * bool(np.any(operand.zero != 0.0))
    return (1 + gamma(count, fmt.native)) * (1 + gamma(count + 1, fmt.a)) - 1  # (dequantised)


def size_of(operand: Numbers, fmt: Format) -> Array:
    """What relative errors are of: a zero point that is taken off late leaves those of both terms (zero-apart)."""
    if operand.is_plain:
        return np.abs(operand.values)
    size = np.abs(operand.numbers) + np.abs(operand.zero)
    underflow = fmt.flush_between * (1 + size) / relative_error(operand, fmt)
    return np.asarray(np.abs(operand.scale) * size + underflow)
