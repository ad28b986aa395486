"""Times and ratios for people: no digits beyond what is looked at, and never so few that something reads as nothing."""

from __future__ import annotations

import math


def duration(seconds: float) -> str:
    """Seconds for people."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def factor(ratio: float, decimals: int = 3) -> str:
    """A ratio to so many decimals, or as many digits where these would be zeros.

    Example:
        >>> factor(0.00312), factor(1.04)
        ('0.00312', '1.040')
    """
    return f"{ratio:.{decimals}f}" if ratio >= 0.1 or ratio <= 0 else f"{ratio:.{decimals}g}"


def format_end(end: float | None) -> str:
    """The end of an interval of ratios; JSON holds None for an infinite one."""
    return "?" if end is None or not 0 < end < math.inf else factor(end)
