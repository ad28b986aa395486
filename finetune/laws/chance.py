"""How far a share of independent draws may be from its probability: Chernoff's bound, for any number of them.

A law about chance that goes by it raises a false alarm with a probability that it states.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from attention_core.conformance.worker.exchange import NDArray

ALARM = 1e-12
"""The probability of a false alarm of one law on one case: a run of 1000 such cases stays below 1e-9."""


def divergence(share: npt.ArrayLike, p: npt.ArrayLike) -> NDArray:
    """KL(share || p) = s log(s / p) + (1 - s) log((1 - s) / (1 - p)), elementwise, in nats.

    Example:
        >>> round(float(divergence(0.0, 0.15)), 6) == round(-math.log(0.85), 6)
        True
    """
    s, q = np.broadcast_arrays(np.asarray(share, float), np.asarray(p, float))
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [np.where(a > 0, a * np.log(a / b), 0.0) for a, b in ((s, q), (1 - s, 1 - q))]
    return np.asarray(np.maximum(parts[0] + parts[1], 0.0))


def unlikely(
    hits: npt.ArrayLike, trials: npt.ArrayLike, p: npt.ArrayLike, *, among: int = 1, slack: npt.ArrayLike = 0.0,
    above: bool = False,
) -> NDArray:  # fmt: skip
    """Where so many hits are not to be expected: with the right p any of `among` is named with probability ALARM.

    Formula: N KL(hits / N || p) > log(2 among / ALARM), since P(share >= s) and P(share <= s) are at most exp(-N KL)
    Args: hits, trials, p: arrays that broadcast; slack: p itself is known up to so much; above: too many alone count.
    Source: Hoeffding (1963), theorem 1 and section 6: draws without replacement obey it, too.
    Example:
        >>> bool(unlikely(0, 200, 0.15))  # of 200 tokens at least one is chosen, but for a probability of 8e-15
        True
    """
    hits, trials = np.asarray(hits, float), np.asarray(trials, float)
    share = hits / np.maximum(trials, 1)
    p, slack = np.asarray(p, float), np.asarray(slack, float)
    low, high = np.clip(p - slack, 0, 1), np.clip(p + slack, 0, 1)
    found = trials * divergence(share, np.clip(share, low, high)) > math.log(2 * among / ALARM)
    return np.asarray(found & (share > high) if above else found)


def margin(trials: float, p: float, share: float, *, slack: float = 0.0) -> float:
    """How far a share of N draws may be from p, on the side where `share` lies.

    Formula: the e of N KL(p +- (slack + e) || p +- slack) = log(2 / ALARM), by bisection, rounded up, plus slack
    Example:
        >>> round(margin(100000, 0.15, 0.2), 4)
        0.0086
    """
    side = 1.0 if share > p else -1.0
    near = min(max(p + side * slack, 0.0), 1.0)
    low, high = 0.0, (1 - near) if side > 0 else near
    for _ in range(60):
        middle = (low + high) / 2
        if trials * float(divergence(near + side * middle, near)) > math.log(2 / ALARM):
            high = middle
        else:
            low = middle
    return high + abs(near - p)


FAR = 40_960_000
"""A multiple of 2^16 and of 10^4: where only the last digits or bits of a seed count, seeds so far apart are one."""


def far_seed(seed: int) -> int:
    """Another seed below 2^31 whose last bits and digits are those of the first.

    >>> far_seed(3)
    40960003
    """
    return seed + FAR if seed + FAR < 2**31 else seed - FAR
