"""Mean and variance of q k^T for independent Gaussian q, k, and what the factor 1/sqrt(h) does to them.

E = sum mu_i^2, Var = sum(sigma^4 + 2 mu_i^2 sigma^2), and Var / h once scaled. Statistical tests state
their rates.
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import torch
from torch import Tensor

from attention_core.kernels.dot_product import dot_product_attention

BLOCKS = 200


def tail_of_the_median() -> float:
    """Return P(at least half of the blocks are off) where each is off with probability 1/4, an upper bound.

    Median of means: a block of m samples has a mean farther than 2 sd / sqrt(m) from the expectation with
    probability at most 1/4 (Chebyshev: only the variance is used, no tail), blocks are independent, and the
    median is farther only if half of them are.
    """
    terms = (math.comb(BLOCKS, k) * 3 ** (BLOCKS - k) for k in range(BLOCKS // 2, BLOCKS + 1))
    return float(Fraction(sum(terms), 4**BLOCKS))


def median_of_means(samples: Tensor) -> float:
    """Return the median of the means of the blocks (the lower of the two middle ones)."""
    return float(samples.reshape(BLOCKS, -1).mean(dim=1).median())


def margin(variance: Fraction, samples: int) -> float:
    """Return 2 sd / sqrt(m) for blocks of m samples: the margin of `tail_of_the_median`."""
    return 2 * math.sqrt(float(variance) * BLOCKS / samples)


def product_moments(mu: Fraction, sigma: Fraction) -> list[Fraction]:
    """Return E[(q k)^j], j = 0..4, for independent q, k ~ N(mu, sigma^2), exactly.

    Gaussian moments obey m_j = mu m_{j-1} + (j - 1) sigma^2 m_{j-2}; independence squares them.
    """
    moments = [Fraction(1), mu]
    for j in range(2, 5):
        moments.append(mu * moments[-1] + (j - 1) * sigma**2 * moments[-2])
    return [m * m for m in moments]


def exact_moments(means: list[Fraction], sigma: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """Return mean, variance and fourth central moment of sum_i q_i k_i: independent cumulants add."""
    mean, variance, fourth_cumulant = Fraction(0), Fraction(0), Fraction(0)
    for mu in means:
        raw = product_moments(mu, sigma)
        central = [sum(math.comb(k, j) * raw[j] * (-raw[1]) ** (k - j) for j in range(k + 1)) for k in (2, 4)]
        mean += raw[1]
        variance += central[0]
        fourth_cumulant += central[1] - 3 * central[0] ** 2
    return mean, variance, fourth_cumulant + 3 * variance**2


def sampled_scores(
    means: list[Fraction], sigma: Fraction, samples: int, seed: int, scale: float | None = 1.0
) -> Tensor:
    """Return independent scores as attention computes them: with one key the log-sum-exp is the score."""
    generator = torch.Generator().manual_seed(seed)
    mu = torch.tensor([float(m) for m in means], dtype=torch.float64)
    shape = (samples, 1, 1, len(means))
    query, key = (mu + float(sigma) * torch.randn(shape, generator=generator, dtype=torch.float64) for _ in range(2))
    result = dot_product_attention(query, key, key[..., :1], scale=scale, return_lse=True)
    return result[1].flatten()


LAWS = {
    "one coordinate": ([Fraction(3, 2)], Fraction(1, 2)),
    "four, one without a mean": ([Fraction(0), Fraction(1), Fraction(-2), Fraction(1, 4)], Fraction(1)),
    "sixteen, centred": ([Fraction(0)] * 16, Fraction(2)),
}
# Draws from a generator are exact to about 2^-53 per sample, far below every margin here: rounding is no
# part of it.
SAMPLES = 2000 * BLOCKS


def test_the_stated_false_alarm_rate() -> None:
    # Thirteen statistics of this file are compared with their margins: together still far below 1e-9.
    assert 13 * tail_of_the_median() < 1e-9
    # The bound is a real tail and not zero by rounding: exp(-n KL(1/2, 1/4)), n KL = 28.8, over its
    # prefactor.
    assert 1e-15 < tail_of_the_median() < math.exp(-28.7)


@pytest.mark.parametrize("name", LAWS)
def test_mean_and_variance_in_closed_form_are_the_exact_moments(name: str) -> None:
    means, sigma = LAWS[name]
    mean, variance, _ = exact_moments(means, sigma)
    assert mean == sum(mu**2 for mu in means)
    assert variance == sum(sigma**4 + 2 * mu**2 * sigma**2 for mu in means)


@pytest.mark.parametrize("name", LAWS)
def test_sampled_mean_and_variance(name: str) -> None:
    """False alarm below 2e-12; a mean or variance off by twice the margin is missed as rarely."""
    means, sigma = LAWS[name]
    mean, variance, fourth = exact_moments(means, sigma)
    scores = sampled_scores(means, sigma, SAMPLES, seed=len(means))
    assert abs(median_of_means(scores) - float(mean)) <= margin(variance, SAMPLES)
    # Centred at the claimed mean, so that one sample's square has expectation Var and variance M_4 - Var^2.
    squares = (scores - float(mean)) ** 2
    spread = margin(fourth - variance**2, SAMPLES)
    assert abs(median_of_means(squares) - float(variance)) <= spread
    # Power: the margin resolves the claim from its neighbours without the factor 2, and from zero.
    without_factor = sum((sigma**4 + mu**2 * sigma**2 for mu in means), Fraction(0))
    assert 2 * spread < float(variance)
    if without_factor != variance:
        assert 2 * spread < float(variance - without_factor)
        assert abs(median_of_means(squares) - float(without_factor)) > spread


@pytest.mark.parametrize("h", [1, 4, 16, 64])
def test_default_scale_gives_unit_variance_at_every_h(h: int) -> None:
    """mu = 0, sigma = 1: Var = h, over h is 1. False alarm below 1e-12, a factor 2 is missed as rarely."""
    samples = 500 * BLOCKS
    means = [Fraction(0)] * h
    _, variance, fourth = exact_moments(means, Fraction(1))
    assert variance == h
    scaled = sampled_scores(means, Fraction(1), samples, seed=100 + h, scale=None)
    # The square of a scaled score has variance (M_4 - Var^2) / h^2 = 2 + 6 / h, at most 8.
    spread = margin((fourth - variance**2) / h**2, samples)
    assert (fourth - variance**2) / h**2 == 2 + Fraction(6, h)
    assert abs(median_of_means(scaled**2) - 1) <= spread < 0.3


def test_the_mean_is_not_tamed_by_the_scale() -> None:
    """With mu != 0 the scaled score keeps a mean, sqrt(h) mu^2 (common to all keys: softmax drops it)."""
    h, mu = 64, Fraction(1, 2)
    samples = 250 * BLOCKS
    mean, variance, _ = exact_moments([mu] * h, Fraction(1))
    scaled = sampled_scores([mu] * h, Fraction(1), samples, seed=7, scale=None)
    spread = margin(variance / h, samples)
    assert float(mean) / math.sqrt(h) == 2.0 and variance / h == Fraction(3, 2)
    assert abs(median_of_means(scaled) - 2.0) <= spread < 0.5


def test_independence_of_query_and_key_is_needed() -> None:
    """With k = q the score is |q|^2: mean h and variance 2h for mu = 0, sigma = 1, not 0 and h."""
    h, samples = 16, 250 * BLOCKS
    generator = torch.Generator().manual_seed(5)
    query = torch.randn((samples, 1, 1, h), generator=generator, dtype=torch.float64)
    scores = dot_product_attention(query, query, query[..., :1], scale=1.0, return_lse=True)[1].flatten()
    assert abs(median_of_means(scores) - h) <= margin(Fraction(2 * h), samples) < h / 4
    # (chi^2_h - h)^2 has expectation 2h and second moment 12 h^2 + 48 h.
    spread = margin(Fraction(12 * h**2 + 48 * h - 4 * h**2), samples)
    assert abs(median_of_means((scores - h) ** 2) - 2 * h) <= spread < h / 2
