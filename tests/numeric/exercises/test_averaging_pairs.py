"""Averaging two values over orthonormal keys: q = k_a + k_b - p sum(others) scaled, and q = S (k_a + k_b).

Both are exact in closed form; the first needs p to grow like sqrt(h) log n, which "let p tend to infinity"
hides.
"""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from tests.numeric.exercise_truth import attend, orthonormal_rows, rounding_bound


def keys_and_values(n: int, h: int) -> tuple[Tensor, Tensor]:
    """Return n exactly orthonormal keys in R^h and small integer values in R^3."""
    generator = torch.Generator().manual_seed(20)
    value = torch.randint(-4, 5, (n, 3), generator=generator).to(torch.float64)
    return orthonormal_rows(h)[:n], value


def pair_query(key: Tensor, a: int, b: int, p: float) -> Tensor:
    """Return k_a + k_b - p times the sum of the others, as one row."""
    others = key.sum(dim=0) - key[a] - key[b]
    return (key[a] + key[b] - p * others)[None]


def error_in_closed_form(value: Tensor, a: int, b: int, gap: float) -> tuple[Tensor, float]:
    """Return the exact output minus the pair's mean, and the bound (n - 2) e^{-gap} / 2 |v_r - m|.

    With e = e^{-gap} each other weighs e / (2 + (n - 2) e), and the pair shares the rest equally, so o - m
    = e / (2 + (n - 2) e) sum_{r != a, b} (v_r - m).
    """
    mean = (value[a] + value[b]) / 2
    others = torch.cat([value[i : i + 1] for i in range(len(value)) if i not in (a, b)]) - mean
    small = math.exp(-gap)
    difference = small / (2 + len(others) * small) * others.sum(dim=0)
    return difference, len(others) * small / 2 * float(others.abs().max())


@pytest.mark.parametrize(("n", "h"), [(4, 4), (5, 16), (16, 16), (40, 64)])
@pytest.mark.parametrize("p", [0.0, 1.0, 4.0, 64.0, 4096.0])
@pytest.mark.parametrize(("a", "b"), [(0, 1), (3, 2)])
def test_query_with_the_others_subtracted_under_scaling(n: int, h: int, p: float, a: int, b: int) -> None:
    key, value = keys_and_values(n, h)
    query = pair_query(key, a, b, p)
    # Orthonormal keys: the scores are 1, 1 and -p, exactly (h is a power of four, p a power of two or zero).
    scores = (query @ key.T)[0]
    assert scores[[a, b]].tolist() == [1.0, 1.0] and (scores == -p).sum() == n - 2
    output, _ = attend(query, key, value, scale=None)  # the default scale is 1/sqrt(h)
    truth, bound = error_in_closed_form(value, a, b, (1 + p) / math.sqrt(h))
    mean = (value[a] + value[b]) / 2
    slack = 2 * rounding_bound(query, key, value, 1 / math.sqrt(h))
    assert float((output[0] - mean - truth).abs().max()) <= slack
    assert float((output[0] - mean).abs().max()) <= bound + slack


@pytest.mark.parametrize(("n", "h"), [(4, 4), (5, 16), (16, 16), (40, 64)])
@pytest.mark.parametrize("S", [0.0, 1.0, 4.0, 16.0, 128.0])
def test_a_large_multiple_of_the_pair_without_scaling(n: int, h: int, S: float) -> None:
    key, value = keys_and_values(n, h)
    query = S * (key[1:2] + key[3:4])
    output, weights = attend(query, key, value)
    truth, bound = error_in_closed_form(value, 1, 3, S)
    mean = (value[1] + value[3]) / 2
    slack = 2 * rounding_bound(query, key, value)
    assert float((output[0] - mean - truth).abs().max()) <= slack
    assert float((output[0] - mean).abs().max()) <= bound + slack
    # Equal exact scores give equal weights, to the bit or not: only the budget is promised.
    allowed = 2 * rounding_bound(query, key, torch.ones(1, 1, dtype=torch.float64))
    assert abs(float(weights[0, 1] - weights[0, 3])) <= allowed


def test_a_fixed_p_stops_averaging_as_h_grows() -> None:
    """The gap is (1 + p) / sqrt(h): p must exceed sqrt(h) log n, or the others keep most of the weight."""
    p, kept = 15.0, []
    for h in (16, 64, 256, 1024):
        key = orthonormal_rows(h)[:16]
        _, weights = attend(pair_query(key, 0, 1, p), key, key[:, :1], scale=None)
        kept.append(float(weights[0, :2].sum()))
        exact = 2 / (2 + 14 * math.exp(-(1 + p) / math.sqrt(h)))
        allowed = 4 * rounding_bound(pair_query(key, 0, 1, p), key, torch.ones(1, 1), 1 / math.sqrt(h))
        assert abs(kept[-1] - exact) <= allowed
    # 2 / (2 + 14 e^{-4}) = .886, then e^{-2}: .514, e^{-1}: .280, e^{-1/2}: .191.
    assert kept[0] > 0.88 and kept[1] > 0.5 and kept[2] < 0.3 and kept[3] < 0.2


def test_p_of_sqrt_h_times_a_logarithm_restores_the_bound() -> None:
    # The pair lacks (n - 2) e^{-gap} / (2 + ...) <= epsilon as soon as gap >= log((n - 2) / (2 epsilon)).
    epsilon = 2.0**-10
    for h in (16, 64, 256, 1024):
        key = orthonormal_rows(h)[:16]
        p = math.sqrt(h) * math.log(14 / (2 * epsilon))
        query = pair_query(key, 0, 1, p)
        _, weights = attend(query, key, key[:, :1], scale=None)
        slack = 4 * rounding_bound(query, key, torch.ones(1, 1), 1 / math.sqrt(h))
        assert 1 - float(weights[0, :2].sum()) <= epsilon + slack


def test_keys_that_are_not_orthogonal_break_it() -> None:
    # A third unit key between the pair, (k_a + k_b) / sqrt(2), scores sqrt(2) S against S and wins.
    key = torch.eye(3, dtype=torch.float64)
    key[2] = (key[0] + key[1]) / math.sqrt(2)
    _, weights = attend(32 * (key[:1] + key[1:2]), key, key)
    # The gap is (sqrt(2) - 1) 32 = 13.25; the other two hold 2 e^{-13.25} at most.
    assert 1 - float(weights[0, 2]) <= 2 * math.exp(-13.25)
