"""Counts that chance does not explain: when a number of successes is too far from its rate, at a stated risk.

Laws of dropout refute by statistics: every test here is false with probability FALSE_ALARM at most.
"""

from __future__ import annotations

import math

import numpy as np

from attention_core.conformance.worker.exchange import NDArray

TESTS_PER_RUN = 2**14
"""More than any run makes (12 laws, up to 240 cases each at effort "thorough", at most 5 tests a case: 14400)."""
FALSE_ALARM = 1e-9 / TESTS_PER_RUN
"""Risk of each test, so that a whole run accuses a correct dropout with probability below 1e-9."""
SEEDS = 24
"""A module whose training calls are the same for so many seeds draws nothing at random."""
DROPOUT = "dropout in training"
"""What no law judges of a module that is random in training: the rate is its own, and no argument says it."""


def divergence(x: NDArray | float, q: float) -> NDArray:
    """KL(x || q) = x log(x/q) + (1-x) log((1-x)/(1-q)) for Bernoulli rates, 0 log 0 = 0."""
    x = np.asarray(x, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        ones = np.where(x > 0, x * np.log(x / q), 0.0)
        zeros = np.where(x < 1, (1 - x) * np.log((1 - x) / (1 - q)), 0.0)
    return ones + zeros


def unlikely(successes: NDArray | float, trials: NDArray | int, q: float, tests: int = 1) -> NDArray:
    """Whether counts of independent trials of rate q lie where chance has a probability below FALSE_ALARM.

    P(K/n as far from q on its side) <= exp(-n KL(K/n || q)) (Chernoff), and there are two sides; `tests` such
    counts share the risk.

    Args: successes, counts; trials n, one for all or one each; q, 0 < q < 1; tests, how many counts are judged
        together.
    Returns: bool, one per count.
    Source: Hoeffding, "Probability Inequalities for Sums of Bounded Random Variables" (1963), theorem 1.
    """
    limit = math.log(2 * tests / FALSE_ALARM)
    return np.asarray(trials * divergence(np.asarray(successes, float) / trials, q) > limit)


def margin(trials: int, q: float, tests: int = 1) -> float:
    """The smallest distance from q that `unlikely` always sees: KL(q + t || q) >= 2 t^2 (Pinsker)."""
    return math.sqrt(math.log(2 * tests / FALSE_ALARM) / (2 * trials))


def agreements(kept: NDArray) -> NDArray:
    """For every pair of the m rows of a bool matrix, in how many columns they agree, (m (m - 1) / 2,)."""
    signs = np.where(kept, 1.0, -1.0)
    same = (kept.shape[1] + signs @ signs.T) / 2
    return np.asarray(same[np.triu_indices(len(kept), 1)])


def at_every_distance(first: NDArray, second: NDArray | None = None) -> tuple[NDArray, NDArray]:
    """How often a mask agrees with itself, or with another one, moved along by every distance: (agreements, places).

    A mask (..., n, h), h <= n/2, shows the first h of n keys. All its rows lie one after another, n apart, so that a
    distance is so many slices, rows and keys at once; the sum over a of x_a y_(a + l), x, y = +-1 or 0 where nothing
    is shown, is a product of Fourier transforms. No distance mixes two distances of keys, as h <= n/2.

    At p = 1/2 the products x_a y_(a + l) of one l are independent: the pairs (a, a + l) form chains without a circle.

    Args: first, second: bool (..., n, h). Returns: for each distance with a place to compare, from 1 on for one mask,
        of both signs and 0 for two.
    """
    *_, n, h = first.shape
    rows = first.size // h
    size = 1 << (2 * rows * n - 1).bit_length()
    ahead = _transform(first, n, size)
    behind = ahead if second is None else _transform(second, n, size)
    product = np.fft.irfft(np.conj(ahead) * behind, size)
    distance = np.arange(1 if second is None else 1 - rows * n, rows * n)
    row, key = np.divmod(distance, n)
    back = key > n // 2  # to a row's keys before
    row, key = row + back, np.where(back, n - key, key)
    places = np.maximum(rows - np.abs(row), 0) * np.maximum(h - key, 0)
    some = places > 0
    return (places[some] + np.rint(product[distance[some]])) / 2, places[some]


def _transform(mask: NDArray, n: int, size: int) -> NDArray:
    signs = np.zeros((mask.size // mask.shape[-1], n))
    signs[:, : mask.shape[-1]] = np.where(mask, 1.0, -1.0).reshape(len(signs), -1)
    return np.fft.rfft(signs.reshape(-1), size)
