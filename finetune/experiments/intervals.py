"""Student's interval of a mean of paired differences, and the level that several intervals need together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from finetune.errors import BadInput

LEVEL = 0.95
"""The probability that all intervals of one experiment hold together."""


@dataclass(frozen=True)
class Interval:
    """A mean with its interval.

    Args:
        mean: of the values.
        low, high: the ends; infinite for a single value.
        count: how many values there were.
    """

    mean: float
    low: float
    high: float
    count: int


def student_interval(values: Sequence[float], level: float = LEVEL) -> Interval:
    """Return mean +- t s / sqrt(n), where t is Student's quantile with n - 1 degrees of freedom.

    It supposes that the values are independent and normal. Differences of two variants that share their seed are one
    value a seed.

    Args:
        values: n finite numbers.
        level: the probability that the interval holds.
    Raises:
        BadInput: if there is no value, one is not finite, or SciPy is not installed.

    >>> student_interval([1.0, 2.0, 3.0])
    Interval(mean=2.0, low=-0.484..., high=4.484..., count=3)

    Source: Student, "The probable error of a mean" (1908).
    """
    found = np.asarray(values, dtype=np.float64)
    if not found.size or not np.isfinite(found).all():
        raise BadInput("an interval needs at least one value, and all of them finite")
    mean, n = float(found.mean()), int(found.size)
    if n == 1:
        return Interval(mean, -math.inf, math.inf, 1)
    try:
        from scipy.stats import t as student
    except ModuleNotFoundError:
        raise BadInput("intervals need SciPy: python -m pip install 'attention-core[finetune]'") from None
    half = float(student.ppf((1 + level) / 2, n - 1)) * float(found.std(ddof=1)) / math.sqrt(n)
    return Interval(mean, mean - half, mean + half, n)


def level_of_each(count: int, level: float = LEVEL) -> float:
    """Return the level at which each of `count` intervals is taken, so that all hold together with probability `level`.

    1 - (1 - level) / count: the intervals may depend on each other in any way.

    >>> round(level_of_each(5), 4)
    0.99

    Source: Bonferroni's inequality; Dunn, "Multiple comparisons among means" (1961).
    """
    return 1 - (1 - level) / max(count, 1)
