"""Argmax attention on the exercise's keys, values and query: its output, and why it cannot learn.

Scores 3, 1, 1, -3, output (3, 2, -4); zero gradient for query and key, the one-hot weight for the values.
"""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from attention_core.kernels.dot_product import argmax_attention
from tests.numeric.exercise_truth import attend, rounding_bound

KEY = torch.tensor([[0.0, 1, 2], [1, 1, 2], [-1, 1, -2], [0, -1, -2]], dtype=torch.float64)
VALUE = torch.tensor([[3.0, 2, -4], [3, -2, 4], [3, 2, 0], [3, 2, 4]], dtype=torch.float64)
QUERY = torch.tensor([[-2.0, 1, 1]], dtype=torch.float64)
SCORES = [3.0, 1.0, 1.0, -3.0]


def hard(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Return argmax attention of one head."""
    output: Tensor = argmax_attention(query[None, None], key[None, None], value[None, None])
    return output[0, 0]


def zero_if_none(gradient: Tensor | None, like: Tensor) -> Tensor:
    """Return zeros where autograd found no path: a path that does not exist carries nothing."""
    return torch.zeros_like(like) if gradient is None else gradient


def test_scores_and_output_of_the_exercise() -> None:
    # Small integers: every product and sum is exact, so equality is the comparison.
    assert (QUERY @ KEY.T)[0].tolist() == SCORES
    assert hard(QUERY, KEY, VALUE)[0].tolist() == [3.0, 2.0, -4.0]


def test_order_of_the_keys_matters_only_together_with_the_values() -> None:
    order = [2, 0, 3, 1]
    assert torch.equal(hard(QUERY, KEY[order], VALUE[order]), VALUE[:1])
    # Keys moved without their values: the winner now stands at place 1, so value 1 comes back.
    assert torch.equal(hard(QUERY, KEY[order], VALUE), VALUE[1:2])


@pytest.mark.parametrize("factor", [2.0**-40, 0.5, 3.0, 2.0**40])
def test_a_positive_scale_changes_nothing_and_a_negative_one_takes_the_least_key(factor: float) -> None:
    assert torch.equal(hard(factor * QUERY, KEY, VALUE), VALUE[:1])
    assert torch.equal(hard(-factor * QUERY, KEY, VALUE), VALUE[3:])


def test_tied_winners_share_equally() -> None:
    # Without key 0 the scores 1, 1 tie: (v_1 + v_2) / 2, halves of small integers, exact.
    assert hard(QUERY, KEY[1:], VALUE[1:])[0].tolist() == [3.0, 0.0, 2.0]


def test_gradient_is_zero_for_query_and_key_and_one_hot_for_the_values() -> None:
    query, key, value = (t.clone().requires_grad_() for t in (QUERY, KEY, VALUE))
    cotangent = torch.tensor([[1.0, -2.0, 5.0]], dtype=torch.float64)
    output = hard(query, key, value)
    d_query, d_key, d_value = torch.autograd.grad(output, (query, key, value), cotangent, allow_unused=True)
    assert not zero_if_none(d_query, query).any() and not zero_if_none(d_key, key).any()
    # dV_j = alpha_j times the cotangent, alpha = (1, 0, 0, 0).
    one_hot = torch.tensor([[1.0], [0.0], [0.0], [0.0]], dtype=torch.float64)
    assert torch.equal(d_value, one_hot @ cotangent)


def test_softmax_attention_learns_where_argmax_does_not() -> None:
    query, key = QUERY.clone().requires_grad_(), KEY.clone().requires_grad_()
    output, _ = attend(query, key, VALUE)
    d_query, d_key = torch.autograd.grad(output[0, 2], (query, key))
    # The gap of the scores is 2: no weight is 0 or 1, and the values differ in coordinate 2.
    assert d_query.abs().max() > 0 and (d_key.abs().amax(dim=1) > 0).all()


def test_output_is_constant_up_to_the_boundary_and_jumps_there() -> None:
    # Key 0 against key 1 differ by (-1, 0, 0): q = (x, 1, 1) prefers key 0 for x < 0 and key 1 for 0 < x
    # (key 2 scores -x - 1, below 3 for x > -4). So the derivative is zero on both sides of a step of height
    # |v_1 - v_0|.
    for x in (-3.75, -2.0, -0.5, -(2.0**-50)):
        assert torch.equal(hard(torch.tensor([[x, 1.0, 1.0]], dtype=torch.float64), KEY, VALUE), VALUE[:1])
    for x in (2.0**-50, 0.5, 4.0):
        assert torch.equal(hard(torch.tensor([[x, 1.0, 1.0]], dtype=torch.float64), KEY, VALUE), VALUE[1:2])


@pytest.mark.parametrize("scale", [1.0, 2.0, 4.0, 8.0, 16.0])
def test_softmax_tends_to_argmax_at_the_rate_of_the_gap(scale: float) -> None:
    output, _ = attend(QUERY, KEY, VALUE, scale=scale)
    error = float((output - hard(QUERY, KEY, VALUE)).abs().max())
    # Exactly: the others weigh e^{-2s}, e^{-2s}, e^{-6s} against 1, and differ from v_0 by 8, 4, 8 in
    # coordinate 2.
    near, far = math.exp(-2 * scale), math.exp(-6 * scale)
    truth = (12 * near + 8 * far) / (1 + 2 * near + far)
    # The truth itself is rounded: a few of its own units, covered by the same bound (its terms are the same
    # sums).
    assert abs(error - truth) <= 2 * rounding_bound(QUERY, KEY, VALUE, scale)
    assert 0 < truth <= 3 * math.exp(-2 * scale) * 8
