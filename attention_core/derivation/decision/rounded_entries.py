r"""Arrays of numbers that are rounded entry by entry: `(0.909 \cdot 0.25, 1 / 3)^\top = (0.227, 0.333)^\top`.

A rounded number with `=` is AMBIGUOUS. In an array each entry may be one, and no numeral of the step stands alone, so
it stays open where each entry differs by less than one unit of the last printed place.
"""

from __future__ import annotations

from fractions import Fraction

from attention_core.derivation.decision.number_arrays import has_array, list_values
from attention_core.derivation.reading.step import Step

MOST_DIGITS = 8


def name_rounding(step: Step) -> str:
    r"""Words for an array of a false step whose entries are those of the other side, rounded or cut off; '' elsewhere.

    Args:
        step: A step of numbers alone.
    """
    return r"its entries are rounded or cut off: write \approx if that is meant" if _has_rounded_entries(step) else ""


def _has_rounded_entries(step: Step) -> bool:
    values = list_values(step) if step.op == "=" and has_array(step) else None
    if not values:
        return False
    for side in (0, 1):
        digits = [_count_digits(pair[side]) for pair in values]
        known = [one for one in digits if one is not None]
        if len(known) == len(digits) and max(known) > 0:
            unit = Fraction(1, 10 ** max(known))
            if all(abs(left - right) < unit for left, right in values):
                return True
    return False


def _count_digits(value: Fraction) -> int | None:
    """How many digits a number has behind its point, None for too many."""
    return next((k for k in range(MOST_DIGITS + 1) if (value * 10**k).denominator == 1), None)


__all__ = ["name_rounding"]
