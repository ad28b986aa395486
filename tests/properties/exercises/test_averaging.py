"""The claims "attention averages": all values, or two of them; bounds, and keys for which they fail.

q = 0 always averages all; the mean of the keys does not; q = S (k_a + k_b) averages two if the keys
are orthonormal.
"""

from __future__ import annotations

import math

import torch
from hypothesis import assume, event, example, given
from hypothesis import strategies as st
from torch import Tensor

from tests.numeric.exercise_truth import attend, orthonormal_rows, rounding_bound

INTEGERS = st.integers(-6, 6)


def matrix(rows: int, columns: int) -> st.SearchStrategy[Tensor]:
    """Return integer matrices: inner products of a few small integers are exact in float64."""
    entries = st.lists(INTEGERS, min_size=rows * columns, max_size=rows * columns)
    return entries.map(lambda flat: torch.tensor(flat, dtype=torch.float64).reshape(rows, columns))


@st.composite
def orthonormal_keys(draw: st.DrawFn) -> Tensor:
    """Draw n >= 3 exactly orthonormal keys: rows of a block of Hadamard and axes, signed and permuted."""
    size = draw(st.sampled_from([4, 16]))
    extra = draw(st.integers(0, 2))
    d = size + extra
    frame = torch.eye(d, dtype=torch.float64)
    frame[:size, :size] = orthonormal_rows(size)
    rows = draw(st.permutations(range(d)))[: draw(st.integers(3, min(d, 7)))]
    signs = draw(st.lists(st.sampled_from([1.0, -1.0]), min_size=len(rows), max_size=len(rows)))
    columns = draw(st.permutations(range(d)))
    signed: Tensor = torch.tensor(signs, dtype=torch.float64)[:, None] * frame[rows][:, columns]
    return signed


@given(st.data(), st.integers(1, 7), st.integers(1, 4))
def test_a_zero_query_averages_all(data: st.DataObject, n: int, d: int) -> None:
    key, value = data.draw(matrix(n, d)), data.draw(matrix(n, 2))
    zero, one = torch.zeros(1, d, dtype=torch.float64), torch.ones(1, 1, dtype=torch.float64)
    output, weights = attend(zero, key, value)
    # All scores are 0 whatever the keys are: only the division by n and the sum over n are rounded.
    slack = rounding_bound(zero, key, value)
    assert float((output[0] - value.mean(dim=0)).abs().max()) <= 2 * slack
    assert float((weights - 1 / n).abs().max()) <= 2 * rounding_bound(zero, key, one)


@given(matrix(2, 3))
@example(torch.tensor([[1.0, 0, 0], [0, 0, 2]], dtype=torch.float64))
def test_the_mean_of_two_keys_averages_exactly_when_their_lengths_agree(key: Tensor) -> None:
    query = key.mean(dim=0, keepdim=True)
    _, weights = attend(query, key, key)
    # s_0 - s_1 = (|k_0|^2 - |k_1|^2) / 2: exact halves of integers.
    difference = float((key[0] @ key[0] - key[1] @ key[1]) / 2)
    exact = 1 / (1 + math.exp(-difference))
    slack = 2 * rounding_bound(query, key, torch.ones(1, 1, dtype=torch.float64))
    assert abs(float(weights[0, 0]) - exact) <= slack
    # A difference is at least 1/2 where there is one, which moves the weight by at least 0.122.
    assert (abs(float(weights[0, 0]) - 0.5) > 0.12) is (difference != 0)
    event(f"equal lengths: {difference == 0}")


@given(st.integers(3, 8), st.integers(1, 6).map(lambda i: i / 2))
def test_the_mean_of_equally_long_keys_fails_too_from_three_on(n: int, length: float) -> None:
    # n - 1 equal keys and one orthogonal to them, all of one length: n q scores (n - 1) l^2 against l^2.
    key = torch.tensor([[length, 0.0]] * (n - 1) + [[0.0, length]], dtype=torch.float64)
    query = key.mean(dim=0, keepdim=True)
    _, weights = attend(query, key, key)
    gap = (n - 2) / n * length**2
    exact = math.exp(-gap) / (n - 1 + math.exp(-gap))
    # The mean is rounded where n is no power of two: one more rounding of the scores, in the bound's d + 4.
    slack = 2 * rounding_bound(query, key, torch.ones(1, 1, dtype=torch.float64))
    assert abs(float(weights[0, -1]) - exact) <= slack
    assert exact + slack < 1 / n  # the lone key is always short-changed: gap >= 1/12


@given(orthonormal_keys(), st.integers(0, 60).map(lambda i: i / 2), st.data())
def test_two_orthonormal_keys_average_within_the_bound(key: Tensor, S: float, data: st.DataObject) -> None:
    n = len(key)
    value = data.draw(matrix(n, 3))
    a, b = data.draw(st.permutations(range(n)))[:2]
    query = S * (key[a] + key[b])[None]
    output, _ = attend(query, key, value)
    mean = (value[a] + value[b]) / 2
    difference = value.sum(dim=0) - value[a] - value[b] - (n - 2) * mean
    small = math.exp(-S)
    # In closed form o - m = e^{-S} / (2 + (n - 2) e^{-S}) sum_{r != a, b} (v_r - m), so at most
    # (n - 2) e^{-S} / 2 times the largest |v_r - m|.
    slack = 2 * rounding_bound(query, key, value)
    exact = small / (2 + (n - 2) * small) * difference
    assert float((output[0] - mean - exact).abs().max()) <= slack
    farthest = float((value - mean).abs().max())
    assert float((output[0] - mean).abs().max()) <= (n - 2) * small / 2 * farthest + slack
    event("the bound is below a hundredth" if (n - 2) * small < 0.02 else "the bound says little")


@given(orthonormal_keys(), st.sampled_from([0.0, 1.0, 4.0, 32.0, 256.0]))
def test_subtracting_the_others_averages_under_scaling(key: Tensor, p: float) -> None:
    n, h = key.shape
    query = (key[0] + key[1] - p * key[2:].sum(dim=0))[None]
    _, weights = attend(query, key, key, scale=None)
    gap = (1 + p) / math.sqrt(h)
    exact = 1 / (2 + (n - 2) * math.exp(-gap))
    slack = 4 * rounding_bound(query, key, torch.ones(1, 1, dtype=torch.float64), 1 / math.sqrt(h))
    assert float((weights[0, :2] - exact).abs().max()) <= slack


@given(matrix(2, 3), st.integers(1, 8))
@example(torch.tensor([[1.0, 2, 2], [3, 0, 0]], dtype=torch.float64), 8)
@example(torch.tensor([[1.0, 2, 2], [3, 0, 1]], dtype=torch.float64), 8)
def test_two_arbitrary_keys_split_by_their_lengths(key: Tensor, S: int) -> None:
    """q = S (k_0 + k_1): the log of the ratio is S (|k_0|^2 - |k_1|^2), so more S makes it worse, not
    better.
    """
    query = S * key.sum(dim=0, keepdim=True)
    _, weights = attend(query, key, key)
    difference = float(S * (key[0] @ key[0] - key[1] @ key[1]))
    assume(abs(difference) < 700)  # e^700 is still a number
    exact = 1 / (1 + math.exp(-difference))
    slack = 2 * rounding_bound(query, key, torch.ones(1, 1, dtype=torch.float64))
    assert abs(float(weights[0, 0]) - exact) <= slack
    assert (abs(float(weights[0, 0]) - 0.5) > 0.2) is (difference != 0)  # integers: 1 / (1 + e^-1) = .73 or more
    event(f"equal lengths: {difference == 0}")


@given(st.integers(1, 40), st.integers(-9, 9).map(lambda i: i / 10))
def test_a_unit_key_between_two_unit_keys_takes_their_average(S: int, cosine: float) -> None:
    # k_0, k_1 at the given cosine c, k_2 on their bisector: scores S (1 + c), the same, and S sqrt(2 (1 +
    # c)), larger since sqrt(2 (1 + c)) < 2 for c < 1. Equal lengths are thus not enough: the others must be
    # far.
    sine = math.sqrt((1 - cosine) / 2)
    middle = math.sqrt((1 + cosine) / 2)
    key = torch.tensor([[middle, sine], [middle, -sine], [1.0, 0.0]], dtype=torch.float64)
    query = S * (key[:1] + key[1:2])
    _, weights = attend(query, key, key)
    gap = S * 2 * middle * (1 - middle)
    exact = 1 / (1 + 2 * math.exp(-gap))
    # Rounded square roots move the score by a few units of S: within the bound's d + 4 roundings, doubled.
    slack = 2 * rounding_bound(query, key, torch.ones(1, 1, dtype=torch.float64))
    assert abs(float(weights[0, 2]) - exact) <= slack
    assert exact > 1 / 3 + slack and float(weights[0, 2]) > float(weights[0, 0])
