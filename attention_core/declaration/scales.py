"""Numbers that are declared of scores: the scale of a call without one (`--scale`), a finite mask (`--mask-fill`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from attention_core.declaration.errors import TargetError

DEFAULT = "1/sqrt(d)"
RULES: Mapping[str, Callable[[int], float]] = {
    DEFAULT: lambda d: 1 / math.sqrt(d),
    "1/d": lambda d: 1 / d,
    "sqrt(d)": math.sqrt,
    "d": float,
}
"""Scales that depend on the head size."""
HIGHEST_FILL = -1e7
"""A mask of a higher number than this lets keys come back at scores that models have."""


def scale_of(rule: str, d: int) -> float:
    """The scale at a head size, by a rule of `RULES` or a number.

    Example:
        >>> scale_of("1/sqrt(d)", 4), scale_of("1", 4)
        (0.5, 1.0)
    """
    return RULES[rule](max(d, 1)) if rule in RULES else float(rule)


def check_scale(rule: str) -> str:
    """The rule as it is kept in the record.

    Raises:
        TargetError: it is neither a rule nor a positive number.
    """
    text = "".join(str(rule).split())
    if text in RULES:
        return text
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise TargetError(f"scale={rule!r}: write a positive number or one of {', '.join(RULES)}")
    return f"{number:g}" if float(f"{number:g}") == number else repr(number)


def check_fill(fill: str) -> str:
    """What a masked score is set to, as it is kept in the record.

    Raises:
        TargetError: it is neither -inf nor a number of at most `HIGHEST_FILL`.

    Example:
        >>> check_fill("-inf"), check_fill("-1e9")
        ('-inf', '-1e9')
    """
    try:
        number = float(fill)
    except (TypeError, ValueError):
        number = math.nan
    if not number <= HIGHEST_FILL:
        raise TargetError(f"mask_fill={fill!r}: write -inf or a number of at most {HIGHEST_FILL:g}")
    return str(fill).strip()
