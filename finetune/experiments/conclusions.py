"""What follows from paired results, by a rule that sees nothing but Student's intervals of their means.

A claim "lower" holds if the whole interval of the difference lies below 0, and is contradicted if all of it lies above.
If the interval holds 0 and lies within the margin, there is no difference that counts; otherwise nothing is decided.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from finetune.errors import BadInput
from finetune.experiments.experiment import Claim, Experiment, Measure

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


Verdict = Literal["holds", "contradicted", "no difference", "undecided"]
Results = Mapping[str, Sequence[Mapping[str, Any]]]
"""The results of an experiment's runs: by variant, one a seed, in the order of the seeds."""


@dataclass(frozen=True)
class Conclusion:
    """A claim with its verdict.

    Args:
        claim: what was judged.
        verdict: what follows.
        interval: of the difference; None if a run has no number.
        reason: why there is none, or nothing.
    """

    claim: Claim
    verdict: Verdict
    interval: Interval | None
    reason: str = ""


def values_of(results: Results, variant: str, measure: Measure) -> list[float]:
    """Return a measure of all runs of a variant, on the scale of differences; NaN for a run without the number."""
    found = [run.get(measure.key) for run in results[variant]]
    return [math.nan if value is None else measure.on_its_scale(float(value)) for value in found]


def difference(
    results: Results, variant: str, against: str | None, measure: Measure, level: float, value: float = 0.0
) -> Interval | None:
    """Return the interval of a variant's measure less another's, seed by seed; None if a run has no finite number.

    Args:
        results: of all runs.
        variant, against: the two; without `against` the difference is that to `value`.
        measure: what is compared.
        level: of the interval.
        value: see `against`.
    """
    first = values_of(results, variant, measure)
    second = [value] * len(first) if against is None else values_of(results, against, measure)
    differences = [a - b for a, b in zip(first, second, strict=True)]
    if not all(map(math.isfinite, differences)):
        return None
    return student_interval(differences, level)


def decide(claim: Claim, interval: Interval) -> Verdict:
    """Return what an interval of the difference says of a claim.

    >>> decide(Claim("", "loss", "a", "b", "lower", margin=0.1), Interval(-0.5, -0.6, -0.4, 5))
    'holds'
    >>> decide(Claim("", "loss", "a", "b", "lower", margin=0.1), Interval(0.01, -0.02, 0.04, 5))
    'no difference'
    >>> decide(Claim("", "loss", "a", "b", "lower", margin=0.1), Interval(0.1, -0.2, 0.4, 5))
    'undecided'
    """
    low, high, margin = interval.low, interval.high, claim.margin
    if claim.direction == "same":
        if -margin <= low and high <= margin:
            return "holds"
        return "contradicted" if low > margin or high < -margin else "undecided"
    below, above = high < 0, low > 0
    if below or above:
        return "holds" if below == (claim.direction == "lower") else "contradicted"
    return "no difference" if -margin <= low and high <= margin else "undecided"


def conclude(experiment: Experiment, results: Results) -> list[Conclusion]:
    """Return the verdicts of an experiment's claims; all their intervals hold together with probability 0.95."""
    level, found = level_of_each(len(experiment.claims)), []
    for claim in experiment.claims:
        measure = experiment.measure(claim.measure)
        interval = difference(results, claim.variant, claim.against, measure, level, claim.value)
        if interval is None:
            names = [name for name in (claim.variant, claim.against) if name is not None]
            lost = sum(not math.isfinite(v) for name in names for v in values_of(results, name, measure))
            found.append(Conclusion(claim, "undecided", None, f"{lost} of its runs have no finite number"))
        else:
            found.append(Conclusion(claim, decide(claim, interval), interval))
    return found


WORDS: Mapping[Verdict, str] = {
    "holds": "borne out", "contradicted": "contradicted", "no difference": "no difference that counts",
    "undecided": "not decided",
}  # fmt: skip


def describe(conclusion: Conclusion, measure: Measure) -> str:
    """Return a conclusion as one line of Markdown."""
    claim, interval = conclusion.claim, conclusion.interval
    against = "" if claim.against is None else f" against {claim.against}"
    line = f"**{WORDS[conclusion.verdict]}**: {claim.sentence}"
    if claim.source:
        line += f" ({claim.source})"
    if interval is None:
        return f"{line}. {conclusion.reason}."
    show = measure.format_difference
    scale = "" if claim.against is not None or not claim.value else f", less {measure.format(claim.value)}"
    line += f". {measure.title}, {claim.variant}{against}{scale}: {show(interval.mean)}"
    line += f" ({show(interval.low)} to {show(interval.high)})"
    return line + (f"; less than {show(claim.margin)} does not count." if claim.margin else ".")
