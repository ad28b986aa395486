"""Errors of the gradients of scores: what one key of a row is charged for the errors of the others."""

from __future__ import annotations

import numpy as np
import pytest

from attention_core import oracle
from attention_core.conformance.budgets import budget


def bound_of_the_heavy_key(other: float) -> float:
    """The bound of the gradient of a key of nearly all weight beside one of weight e^-14 whose value is `other`."""
    query, key = np.ones((1, 1, 1, 1)), np.array([0.0, -14.0]).reshape(1, 1, 2, 1)
    value, down = np.array([1.0, other]).reshape(1, 1, 2, 1), np.ones((1, 1, 1, 1))
    truth = oracle.attention(query, key, value, scale=1.0)
    true = oracle.gradients(query, key, value, down, scale=1.0)
    found = budget.backward_bound(query, key, value, down, truth, true, scale=1.0, dtype="float32")
    return float(found.key[0, 0, 0, 0])


@pytest.mark.parametrize("other", [1e3, -1e4])
def test_a_key_of_much_weight_is_hardly_charged_for_the_part_that_it_may_share(other: float) -> None:
    assert bound_of_the_heavy_key(other) < 1.2 * bound_of_the_heavy_key(1.0)


def test_a_key_of_little_weight_is_charged_no_more_than_the_largest_error() -> None:
    """The bound by the share of a weight grows without end as the weight falls; the largest error does not."""
    query, key = np.ones((1, 1, 1, 1)), np.array([0.0, -300.0]).reshape(1, 1, 2, 1)
    value, down = np.array([1.0, 2.0]).reshape(1, 1, 2, 1), np.ones((1, 1, 1, 1))
    truth = oracle.attention(query, key, value, scale=1.0)
    true = oracle.gradients(query, key, value, down, scale=1.0)
    found = budget.backward_bound(query, key, value, down, truth, true, scale=1.0, dtype="float64")
    assert np.isfinite(found.key).all() and found.key[0, 0, 1, 0] < 1e-100


def bounds_of_one_row(scores: list[float]) -> budget.BackwardBounds:
    """Bounds for a query of 1, keys that are these scores, and values of either sign."""
    query, key = np.ones((1, 1, 1, 1)), np.array(scores).reshape(1, 1, -1, 1)
    value, down = np.resize([1.0, -1.0], (1, 1, len(scores), 1)), np.ones((1, 1, 1, 1))
    truth = oracle.attention(query, key, value, scale=1.0)
    true = oracle.gradients(query, key, value, down, scale=1.0)
    return budget.backward_bound(query, key, value, down, truth, true, scale=1.0, dtype="bfloat16")


def test_only_keys_whose_score_may_be_the_largest_are_charged_for_its_gradient() -> None:
    """What all 64 keys have rounded comes to the leading one: far more than its own weight would give it."""
    found = bounds_of_one_row([0.5, *[0.0] * 63]).key.ravel()
    assert found[0] > 8 * found[1:].max()
    close = bounds_of_one_row([2.0**-8, *[0.0] * 63]).key.ravel()  # a score is off by more than that
    assert close.min() > 0.5 * close.max()


def test_a_cotangent_may_be_divided_by_the_normaliser_and_stored() -> None:
    """(P V) / Z: of a value 64, -64 under a cotangent 1, 1, dP is 0, and each half may be a rounding of 64 off."""
    query, key, value = np.ones((1, 1, 1, 1)), np.zeros((1, 1, 512, 1)), np.zeros((1, 1, 512, 2))
    value[..., 0, :], key[..., 1, :] = (64.0, -64.0), 1.0  # the largest score is another one
    down = np.ones((1, 1, 1, 2))
    truth = oracle.attention(query, key, value, scale=1.0)
    true = oracle.gradients(query, key, value, down, scale=1.0)
    found = budget.backward_bound(query, key, value, down, truth, true, scale=1.0, dtype="bfloat16")
    assert found.key[0, 0, 0, 0] >= truth.weights[0, 0, 0, 0] * 2 * 64 * 2.0**-8
