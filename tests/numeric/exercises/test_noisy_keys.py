"""Averaging two values when the keys are random: one head against two, small isotropic noise and a long axis.

q = S (mu_a + mu_b) for one head; q_1 = S mu_a, q_2 = S mu_b for two, whose outputs are averaged.
"""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from tests.numeric.exercise_truth import attend, orthonormal_rows

N_KV, A, B, SAMPLES = 5, 1, 3, 20_000
MEANS = orthonormal_rows(16)[2 : 2 + N_KV]
VALUE = torch.tensor([[5.0, 0, 0], [0, 4, 0], [0, -3, 1], [-2, 0, 3], [0, 0, -6]], dtype=torch.float64)
TARGET = (VALUE[A] + VALUE[B]) / 2
FARTHEST = max(float((v - w).norm()) for v in VALUE for w in VALUE)
FALSE_ALARM = 1e-10  # of each statistical statement; there are eight, so the file's is below 1e-9
# |N(0, 1)| > 9 has probability erfc(9 / sqrt 2) = 2.3e-19: over 5 * 20000 projections and two heads below
# 1e-13.
REACH = 9.0


def noisy_keys(alpha: float, long_axis: bool, seed: int) -> tuple[Tensor, Tensor]:
    """Return keys (samples, n, d) with covariance alpha I, plus mu_a mu_a^T / 2 for a, and epsilon."""
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn((SAMPLES, *MEANS.shape), generator=generator, dtype=torch.float64)
    epsilon = torch.ones(SAMPLES, dtype=torch.float64)
    if long_axis:
        epsilon += math.sqrt(0.5) * torch.randn(SAMPLES, generator=generator, dtype=torch.float64)
    key = MEANS + math.sqrt(alpha) * noise
    key[:, A] += (epsilon - 1)[:, None] * MEANS[A]
    return key, epsilon


def one_head(key: Tensor, S: float) -> tuple[Tensor, Tensor]:
    """Return outputs (samples, d_v) and weights (samples, n) under q = S (mu_a + mu_b)."""
    query = (S * (MEANS[A] + MEANS[B])).expand(len(key), 1, -1)
    output, weights = attend(query, key, VALUE.expand(len(key), -1, -1))
    return output[:, 0], weights[:, 0]


def two_heads(key: Tensor, S: float) -> tuple[Tensor, Tensor]:
    """Return the mean of the outputs under S mu_a and S mu_b, and the weights (samples, head, n)."""
    query = (S * MEANS[[A, B]]).expand(len(key), 2, -1)
    output, weights = attend(query, key, VALUE.expand(len(key), -1, -1))
    return output.mean(dim=1), weights


def hoeffding(width: float, false_alarm: float = FALSE_ALARM) -> float:
    """Return t with P(|mean - expectation| > t) <= false_alarm for samples in an interval this wide."""
    return width * math.sqrt(math.log(2 / false_alarm) / (2 * SAMPLES))


@pytest.mark.parametrize("alpha", [2.0**-24, 2.0**-30, 2.0**-40])
@pytest.mark.parametrize("S", [8.0, 16.0])
def test_small_isotropic_noise_leaves_one_head_and_two_near_the_average(alpha: float, S: float) -> None:
    key, _ = noisy_keys(alpha, long_axis=False, seed=1)
    # Under q the score of key i moves by S sqrt(alpha) z.(mu_a + mu_b), of deviation S sqrt(2 alpha): all lie
    # within eta, save with the probability stated at REACH.
    eta = REACH * S * math.sqrt(2 * alpha)
    output, _ = one_head(key, S)
    # The pair's shares differ from 1/2 by at most tanh(eta) / 2 (scores differ by 2 eta at most), and the
    # others hold at most (n - 2) e^{-S + 2 eta} / 2. Rounding, below 2^-40 of the values, is absorbed by
    # REACH: lowered by a millionth it has the same rate, and moves the bound by more than that.
    pair = math.tanh(eta) / 2 * float((VALUE[A] - VALUE[B]).norm())
    others = (N_KV - 2) / 2 * math.exp(-S + 2 * eta) * FARTHEST
    assert float((output - TARGET).norm(dim=1).max()) <= pair + others
    both, _ = two_heads(key, S)
    # Each head copies: gap S - 2 eta, n - 1 others. (Only two of the values are FARTHEST apart: room for
    # rounding.)
    assert float((both - TARGET).norm(dim=1).max()) <= (N_KV - 1) * math.exp(-S + 2 * eta) * FARTHEST


def test_small_means_small_against_one_over_s_squared() -> None:
    """The largest noise above under a query 2^12 times as long makes one head flip; two heads hold."""
    alpha, S = 2.0**-24, 2.0**16
    key, _ = noisy_keys(alpha, long_axis=False, seed=2)
    _, weights = one_head(key, S)
    # s_a - s_b has deviation 2 S sqrt(alpha) = 32, so by the lemma below E[r (1 - r)] <= 1 / (32 sqrt(2 pi)).
    share = weights[:, A] / (weights[:, A] + weights[:, B])
    expected = 1 / (32 * math.sqrt(2 * math.pi))
    assert float((share * (1 - share)).mean()) <= expected + hoeffding(0.25)
    both, _ = two_heads(key, S)
    # Deviation 16 per score against a gap of 2^16: 9 deviations twice leave 65248, and e^{-745} is zero
    # already.
    assert torch.equal(both, TARGET.expand(SAMPLES, -1))


LONG_ALPHA = 2.0**-60  # "vanishingly small": moves a score by S sqrt(2) 2^-30 REACH at most


@pytest.mark.parametrize("S", [16.0, 64.0])
def test_along_the_axis_one_head_flips_between_the_two_values(S: float) -> None:
    key, epsilon = noisy_keys(LONG_ALPHA, long_axis=True, seed=3)
    output, weights = one_head(key, S)
    # s_a - s_b = S (epsilon - 1) + noise is symmetric about 0: each of the two wins with probability
    # exactly 1/2.
    wins = float((weights[:, A] > weights[:, B]).to(torch.float64).mean())
    assert abs(wins - 0.5) <= hoeffding(1.0)
    # Lemma: for X symmetric, unimodal with density at most f, E[r (1 - r)] = E[sech^2(X / 2)] / 4 <= f,
    # since the integral of sech^2(x / 2) / 4 is 1. Here X has variance at least S^2 / 2, so f <= 1 / (S
    # sqrt(pi)), and the share's variance E[(r - 1/2)^2] = 1/4 - E[r (1 - r)] lies in [1/4 - 1 / (S
    # sqrt(pi)), 1/4].
    share = weights[:, A] / (weights[:, A] + weights[:, B])
    variance = float(((share - 0.5) ** 2).mean())
    assert 0.25 - 1 / (S * math.sqrt(math.pi)) - hoeffding(0.25) <= variance <= 0.25
    # What it looks like: far from the boundary the output is v_a or v_b, not their mean.
    far = (epsilon - 1).abs() * S > 20
    chosen = torch.where((epsilon > 1)[:, None], VALUE[A], VALUE[B])
    # The loser of the two holds e^{-20 + 2 eta} at most; the winner scores S or more, the n - 2 others 0 +
    # eta.
    eta = REACH * S * math.sqrt(2 * LONG_ALPHA)
    bound = (math.exp(-20 + 2 * eta) + (N_KV - 2) * math.exp(-S + 2 * eta)) * FARTHEST
    assert far.any() and float((output - chosen).norm(dim=1)[far].max()) <= bound
    assert bound < float((VALUE[A] - TARGET).norm()) / 4


@pytest.mark.parametrize("S", [16.0, 64.0])
def test_along_the_axis_two_heads_do_not_flip_while_epsilon_is_positive(S: float) -> None:
    key, epsilon = noisy_keys(LONG_ALPHA, long_axis=True, seed=3)
    output, weights = two_heads(key, S)
    eta = REACH * S * math.sqrt(2 * LONG_ALPHA)
    # Head 1 has the gap S epsilon, head 2 the gap S whatever epsilon is; each copies within (n - 1) e^{-gap}.
    # Rounding, below 2^-40 of the largest value, is covered by taking the gaps 2 eta smaller, eta >= 2^-23.
    gap_1 = S * epsilon - 2 * eta
    bound = (N_KV - 1) / 2 * ((-gap_1).exp() + math.exp(-S + 2 * eta)) * FARTHEST
    positive = epsilon > 0
    assert bool(((output - TARGET).norm(dim=1) <= bound)[positive].all())
    # The variance of a's share of the mean of the heads, given epsilon > 0: its distance to 1/2 is at most
    # half of min(1, (n - 1) e^{-S epsilon}), plus head 2's, and the density of epsilon is at most 1 /
    # sqrt(pi); so the mean square is at most (log(n - 1) + 1/2) / (4 S sqrt(pi) P(epsilon > 0)), with (n -
    # 1) e^{-S} more for head 2.
    weight = weights[:, :, A].mean(dim=1)[positive]
    chance = 1 - math.erfc(1.0) / 2
    limit = (math.log(N_KV - 1) + 0.5) / (4 * S * math.sqrt(math.pi) * chance) + (N_KV - 1) * math.exp(-S)
    # Conditioning leaves fewer samples, which widens Hoeffding's margin: 0.921 of them are expected, and
    # fewer than 0.9 have probability e^{-58} (Chernoff).
    assert len(weight) >= 0.9 * SAMPLES
    assert float(((weight - 0.5) ** 2).mean()) <= limit + hoeffding(0.25) / math.sqrt(0.9)
    assert limit + hoeffding(0.25) / math.sqrt(0.9) < 0.25 - 1 / (S * math.sqrt(math.pi))


def test_the_two_heads_need_epsilon_positive() -> None:
    """epsilon <= 0 in 7.9 % of the draws (Phi(-sqrt 2)): there head 1 does not find key a at all."""
    key, epsilon = noisy_keys(LONG_ALPHA, long_axis=True, seed=4)
    _, weights = two_heads(key, 64.0)
    negative = epsilon <= 0
    assert abs(float(negative.to(torch.float64).mean()) - math.erfc(1.0) / 2) <= hoeffding(1.0)
    # Its score is at most 0 there, as are the others': its weight is at most 1/n (e^{2 eta} for the noise).
    eta = REACH * 64.0 * math.sqrt(2 * LONG_ALPHA)
    assert float(weights[negative, 0, A].max()) <= math.exp(2 * eta) / N_KV
    assert float(weights[negative, 1, B].min()) >= 1 - (N_KV - 1) * math.exp(-64.0 + 2 * eta) - 2.0**-50
