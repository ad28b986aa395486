"""Ratios of times on a noisy machine: the paired median, its interval, a cross-check, and a verdict.

Times of one block are divided by the baseline's of the same block, so that what slows the machine for longer than a
block cancels; the median over blocks ignores bursts. Nothing here reads a clock.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Annotated

import numpy as np
import numpy.typing as npt

from attention_core.bench.json_fields import Count, End, Factor, OneOf

Array = npt.NDArray[np.float64]

SHOWN = 0.95
"""Confidence of the interval that is shown, and that SAME rests on."""
DECIDING = 0.99
"""Confidence of the interval that must exclude 1 for FASTER or SLOWER: one false alarm in a hundred, before the
cross-check, leaves room for what a real machine adds."""
MARGIN = 0.02
"""Times that differ by less than this are called the same."""
QUANTILE = 0.2
"""The low quantile of the cross-check: the times of the undisturbed samples."""
AGREEMENT = 0.25
"""The share of the effect that the low quantiles must show too."""
PLAIN = ((4.0, math.log(1.1)), (1.0, math.log(2.0)))
"""A difference is plain where all blocks show this much at least (a tenth; a factor of two), and 1 lies so many times
further away than the blocks lie apart. Blocks that drift together have no interval, as it is unknown how far the drift
may go; but kernels that take turns drift alike, and what moved the ratio by that much has no reason to stand still."""
LEAST_BLOCKS = 6
"""With fewer blocks no interval of the median has 95 %."""
OUTLIER = 5.0
"""Robust standard deviations above the median from which a sample is counted as an outlier (it is kept)."""
VERDICTS = ("FASTER", "SLOWER", "SAME", "AMBIGUOUS")


@dataclass(frozen=True)
class Interval:
    """A value with the ends of its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """A kernel's time over the baseline's.

    Args: ratio, above 1 where the kernel is slower; low, high, its 95 % interval; quantiles, the ratio of the low
        quantiles; blocks, and effective, what they count for as their noise is correlated; verdict, one of `VERDICTS`.
    """

    ratio: Factor
    low: End
    high: End
    quantiles: End
    blocks: Count
    effective: End
    verdict: Annotated[str, OneOf(VERDICTS)]


def compare(times: Array, base: Array) -> Comparison:
    """The ratio of two functions timed in the same blocks.

    r_b = sqrt(t_b1 t_b2 / (s_b1 s_b2)); ratio = median_b r_b, its interval by order statistics.

    Args: times, base (blocks, 2), seconds of the same blocks.
    Returns: Comparison. Raises: ValueError where the blocks are not the same number.

    Example:
        >>> s = np.full((8, 2), 0.5)
        >>> round(compare(2 * s, s).ratio, 12)
        2.0
    """
    ratios = log_ratios(times, base)
    effective = effective_count(ratios)
    shown = median_interval(ratios, SHOWN, effective)
    deciding = median_interval(ratios, DECIDING, effective)
    quantiles = math.log(np.quantile(times, QUANTILE) / np.quantile(base, QUANTILE))
    return Comparison(
        math.exp(shown.value), math.exp(shown.low), math.exp(shown.high), math.exp(quantiles), len(ratios), effective,
        verdict_of(shown, deciding, quantiles, is_plain(ratios)),
    )  # fmt: skip


def log_ratios(times: Array, base: Array) -> Array:
    """log r_b of every block: (blocks,). Raises: ValueError where the blocks are not the same number."""
    if times.shape != base.shape:
        raise ValueError(f"blocks differ: {times.shape} and {base.shape}")
    return np.asarray(np.log(times / base).mean(axis=1))


def is_plain(ratios: Array) -> bool:
    """Whether the logarithms of the blocks' ratios all lie far on one side of 0, and near each other.

    Example:
        >>> bool(is_plain(np.log([0.155, 0.16, 0.165] * 4))), bool(is_plain(np.log([1.02] * 12)))
        (True, False)
    """
    nearest, apart = float(np.abs(ratios).min()), float(np.ptp(ratios))
    one_side = bool((ratios > 0).all() or (ratios < 0).all())
    return len(ratios) >= LEAST_BLOCKS and one_side and any(nearest >= max(least, k * apart) for k, least in PLAIN)


def verdict_of(shown: Interval, deciding: Interval, quantiles: float, plain: bool = False) -> str:
    """The verdict on a logarithm of a ratio: its intervals at two confidences, and that of the low quantiles.

    SAME where the 95 % interval lies within the margin; FASTER or SLOWER where the 99 % interval excludes 1, or the
    difference is plain, and the low quantiles show at least a quarter of the effect; else AMBIGUOUS.
    """
    margin = math.log1p(MARGIN)
    if -margin <= shown.low and shown.high <= margin:
        return "SAME"
    agree = quantiles * math.copysign(1.0, shown.value) >= AGREEMENT * abs(shown.value)
    if not agree:
        return "AMBIGUOUS"
    if deciding.high < 0 or (plain and shown.value < 0):
        return "FASTER"
    return "SLOWER" if deciding.low > 0 or (plain and shown.value > 0) else "AMBIGUOUS"


def median_interval(values: Array, confidence: float, effective: float | None = None) -> Interval:
    """The median and its distribution-free interval: two order statistics.

    With K ~ Binomial(n, 1/2), the k-th smallest and largest values enclose the median with 1 - 2 P(K < k). Where the
    values are correlated the ranks move away from the middle by sqrt(n / effective).

    Args: values (n,), n >= 1; effective, what they count for (n by default).
    Returns: Interval; its ends are infinite where n is too small for the confidence.
    Source: David and Nagaraja, Order Statistics (2003), section 7.1.
    """
    n, ordered = len(values), np.sort(values)
    rank = lower_rank(n, confidence)
    if rank == 0:
        return Interval(float(np.median(values)), -math.inf, math.inf)
    stretch = math.sqrt(n / effective) if effective else 1.0
    moved = math.floor((n + 1) / 2 - stretch * ((n + 1) / 2 - rank))
    if moved < 1:
        return Interval(float(np.median(values)), -math.inf, math.inf)
    return Interval(float(np.median(values)), float(ordered[moved - 1]), float(ordered[n - moved]))


@cache
def lower_rank(n: int, confidence: float) -> int:
    """The largest k with P(Binomial(n, 1/2) < k) <= (1 - confidence) / 2; 0 where there is none."""
    allowed = (1 - confidence) / 2
    total, k = 0.0, 0
    while k < n:
        total += math.exp(math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) - n * math.log(2))
        if total > allowed:
            return k
        k += 1
    return k


def effective_count(values: Array) -> float:
    """What n correlated values count for: n (1 - r) / (1 + r), r the correlation of neighbours' signs, at least 0.

    The signs about the median are what an interval by order statistics depends on.
    """
    n = len(values)
    if n < LEAST_BLOCKS:
        return float(n)
    signs = np.sign(values - np.median(values))
    r = max(0.0, float((signs[1:] * signs[:-1]).mean()))
    return max(1.0, n * (1 - r) / (1 + r))


def outliers(times: Array) -> int:
    """Samples far above the median: more than `OUTLIER` robust standard deviations."""
    middle = np.median(times)
    spread = 1.4826 * np.median(np.abs(times - middle))
    return int((times > middle + OUTLIER * max(spread, 1e-3 * middle)).sum())
