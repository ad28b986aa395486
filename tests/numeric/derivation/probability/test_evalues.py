"""Anytime-valid tests of a mean.

The tests keep their promises: supermartingales by exact expectations, both error rates by counting over seeds.
Heavy tails are drawn on purpose; a rate is compared with the quantile of a binomial, not with a lucky count.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from lazy import lazily

from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.probability.evalues import Bets, Errors, count_samples, psi
from attention_core.derivation.probability.evalues import test_mean as run_test

stats = lazily("scipy.stats")


@pytest.mark.parametrize("rate", [1e-3, 0.03, 0.3, 2.0])
def test_each_factor_has_expectation_at_most_one(rate: float) -> None:
    """Every two-point law with mean 0 on a grid of skewness, up to outcomes of probability 1e-9."""
    for low, p in [(low, p) for low in (0.1, 1.0, 7.0) for p in (0.5, 0.1, 1e-3, 1e-6, 1e-9)]:
        high = low * (1 - p) / p  # high with probability p, -low otherwise
        variance = p * high**2 + (1 - p) * low**2
        factor = p * math.exp(psi(rate * high)) + (1 - p) * math.exp(psi(-rate * low))
        allowed = math.exp(min(rate**2 * variance / 2, 600)) * (1 + 1e-12)
        assert factor <= allowed
        mirrored = p * math.exp(psi(-rate * high)) + (1 - p) * math.exp(psi(rate * low))
        assert mirrored <= allowed


LAWS: dict[str, Any] = {  # mean 0 and variance 1, far from normal
    "product of normals": lambda rng, n: rng.standard_normal(n) * rng.standard_normal(n),
    "rare outcomes": lambda rng, n: np.where(rng.random(n) < 1e-3, 31.6069613, -0.0316386),
    "Student with 3 degrees": lambda rng, n: rng.standard_t(3, n) / math.sqrt(3),
}


def run(law: str, shift: float, seed: int, errors: Errors, two_sided: bool = True) -> bool:
    rng = np.random.default_rng(seed)
    return run_test(lambda n: (LAWS[law](rng, n) + shift, 0.0), 1.0, errors, two_sided).rejected


@pytest.mark.parametrize("law", LAWS)
def test_true_means_are_rejected_rarely_enough(law: str) -> None:
    errors, runs = Errors(0.1, 0.1, 0.3), 300
    rejected = sum(run(law, 0.0, seed, errors) for seed in range(runs))
    assert rejected <= stats.binom.ppf(1 - 1e-6, runs, errors.alpha)
    one_sided = sum(run(law, -0.1, seed, errors, two_sided=False) for seed in range(runs))
    assert one_sided <= stats.binom.ppf(1 - 1e-6, runs, errors.alpha)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("shift", [0.3, -0.3, 2.0, 12.0])
def test_a_discrepancy_is_missed_rarely_enough(law: str, shift: float) -> None:
    errors, runs = Errors(0.1, 0.1, 0.3), 100
    missed = sum(not run(law, shift, 1000 + seed, errors) for seed in range(runs))
    assert missed <= stats.binom.ppf(1 - 1e-6, runs, errors.beta)


def test_a_smaller_discrepancy_is_not_promised() -> None:
    """The promise is sharp enough to fail: an eighth of the discrepancy is mostly missed."""
    missed = sum(not run("product of normals", 0.04, seed, Errors(1e-3, 0.1, 0.3)) for seed in range(50))
    assert missed > 25


def test_bets_stop_early_and_rarely_on_true_means() -> None:
    def wealthy(mean: float, seed: int) -> bool:
        rng = np.random.default_rng(seed)
        bets = Bets((-mean, 1 - mean), True, 0.1)
        return any(bets.play((rng.random(256) < 0.5).astype(float) - mean, np.zeros(256)) for _ in range(8))

    assert all(wealthy(0.6, seed) for seed in range(40))
    assert sum(wealthy(0.5, seed) for seed in range(300)) <= stats.binom.ppf(1 - 1e-6, 300, 0.1)


def test_wealth_is_a_martingale_by_exact_enumeration() -> None:
    """All 2^10 paths of a fair coin: the average wealth is 1."""
    total = 0.0
    for path in range(1024):
        values = np.array([((path >> k) & 1) - 0.5 for k in range(10)])
        bets = Bets((-0.5, 0.5), True, 1e-30)
        bets.play(values, np.zeros(10))
        total += (math.exp(bets.wealth[0]) + math.exp(bets.wealth[1])) / 2
    assert total / 1024 == pytest.approx(1.0, abs=1e-12)


def test_rounding_that_could_tip_the_test_is_refused() -> None:
    with pytest.raises(Unsettled, match="too inaccurate"):
        run_test(lambda n: (np.zeros(n), np.full(n, 0.1)), 1.0, Errors(0.1, 0.1, 0.3), True)
    with pytest.raises(Unsettled, match="samples would be needed"):
        count_samples(1.0, Errors(1e-9, 1e-6, 1e-3), 2)


def test_the_number_of_samples_is_the_formula() -> None:
    needed, rate = count_samples(4.0, Errors(1e-3, 1e-2, 0.1), 2)
    gap = 0.2
    assert rate == pytest.approx(gap / (8 + gap**2))
    assert needed == pytest.approx((math.log(2e3) + math.log(100)) * 2 * (8 + gap**2) / gap**2, rel=5e-3)
