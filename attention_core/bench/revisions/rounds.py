"""Two revisions over several rounds: a ratio of each round, their interval, and a verdict against a limit.

A process may be slower than another of the same code for all of its life, by where its memory lies. Blocks within one
pair of processes say nothing of that; so each round has fresh processes, and the rounds are what is counted.
The argument: docs/how_to/two_revisions.md. Nothing here reads a clock.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from attention_core.bench.report.growth import student
from attention_core.bench.timing.sampling import StoppingRule
from attention_core.bench.timing.statistics import DECIDING, MARGIN, log_ratios

Array = npt.NDArray[np.float64]
LIMIT = 1 + MARGIN
"""A head that takes this much longer than its base is slower, unless another gate is given."""
FLOOR = 4
"""Blocks of a round at least, whatever the budget: with fewer, one burst is half of the median."""


@dataclass(frozen=True)
class RoundRule:
    """When to stop: by the width of the interval and by time, never by what it says.

    Args:
        seconds: of all samples together, once there are `least` rounds.
        limit: the ratio from which a head is called slower.
        least, most: rounds.

    >>> round(RoundRule().width, 4)
    0.0099
    """

    seconds: float = 10.0
    limit: float = LIMIT
    least: int = 8
    most: int = 40

    @property
    def width(self) -> float:
        """Half the width of the interval of the logarithm at which it is narrow enough: half the way to the limit."""
        return math.log(self.limit) / 2

    @property
    def of_a_round(self) -> StoppingRule:
        """How long a round samples: so that twice the least number of rounds fit into the time."""
        blocks = 400
        return StoppingRule(self.seconds / (2 * self.least), least=blocks + 1, most=blocks, floor=FLOOR)


@dataclass(frozen=True)
class RoundTimes:
    """What one round measured.

    Args: base, head (blocks, 2), seconds a call in the same blocks; spent, seconds of all samples.
    """

    base: Array
    head: Array
    spent: float

    @property
    def log_ratio(self) -> float:
        """The median over the blocks of log(head / base)."""
        return float(np.median(log_ratios(self.head, self.base)))


@dataclass(frozen=True)
class Change:
    """The time of the head over that of the base.

    Args:
        ratio: above 1 where the head is slower.
        low, high: its 99 % interval over rounds.
        rounds: the ratio of each round.
        verdict: SLOWER, FASTER: all of the interval lies beyond the limit, or below its inverse. SAME: all of it lies
            between. AMBIGUOUS: otherwise.
    """

    ratio: float
    low: float
    high: float
    verdict: str
    rounds: list[float] = field(default_factory=list)


def compare_rounds(logs: Sequence[float], limit: float = LIMIT) -> Change:
    """Return what rounds say together: the mean of their log-ratios, with Student's interval at 99 %.

    ratio = exp(mean_r y_r), ends exp(mean +- t_{R-1} s / sqrt(R)).

    Args:
        logs: of each round the median of log(head / base); at least two.
        limit: above 1.

    >>> compare_rounds([0.05, 0.051, 0.049, 0.05]).verdict
    'SLOWER'
    """
    mean, half = float(np.mean(logs)), half_width(logs)
    low, high, edge = mean - half, mean + half, math.log(limit)
    verdict = "SLOWER" if low > edge else "FASTER" if high < -edge else "AMBIGUOUS"
    if -edge <= low and high <= edge:
        verdict = "SAME"
    return Change(math.exp(mean), math.exp(low), math.exp(high), verdict, [math.exp(y) for y in logs])


def half_width(logs: Sequence[float]) -> float:
    """Half the width of the interval of the mean logarithm."""
    n = len(logs)
    return student(DECIDING, n - 1) * float(np.std(logs, ddof=1)) / math.sqrt(n)


def take_rounds(take: Callable[[int], RoundTimes], rule: RoundRule) -> list[RoundTimes]:
    """Measure rounds until the rule ends it.

    Args:
        take: measures the round of a number, from 0.
        rule: when to stop.
    """
    found: list[RoundTimes] = []
    for number in range(rule.most):
        found.append(take(number))
        if number + 1 < rule.least:
            continue
        narrow = half_width([one.log_ratio for one in found]) <= rule.width
        if narrow or sum(one.spent for one in found) >= rule.seconds:
            break
    return found
