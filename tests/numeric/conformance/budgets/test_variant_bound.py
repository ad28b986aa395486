"""Budgets of sigmoid and differential attention: right roundings lie within them, and use a share of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attention_core.conformance.budgets.variant_bound import difference_bound, sigmoid_bound, sigmoid_weights
from tests.numeric.document_values import sides_of

DOCUMENT = "variants.md"


def draw(seed: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    n, m, d = (int(x) for x in rng.integers(1, 33, size=3))
    return tuple(np.float32(rng.standard_normal(s)).astype(np.float64) for s in ((n, d), (m, d), (m, 3)))  # type: ignore[return-value]


@pytest.mark.parametrize("way", ["exp", "tanh"])
def test_sigmoid_attention_in_float32_stays_within_the_budget(way: str) -> None:
    worst = 0.0
    for seed in range(60):
        q, k, v = draw(seed)
        pairs, bias = np.ones((len(q), len(k)), dtype=bool), -float(np.log(len(k)))
        true = sigmoid_weights(q, k, pairs, 0.5, bias) @ v
        scores = np.float32(q) @ np.float32(k).T * np.float32(0.5) + np.float32(bias)
        weights = 1 / (1 + np.exp(-scores)) if way == "exp" else np.float32(0.5) + np.tanh(scores / 2) / 2
        bound = sigmoid_bound(q, k, v, pairs, scale=0.5, bias=bias, dtype="float32", accumulate="float32")
        worst = max(worst, float((np.abs(weights @ np.float32(v) - true) / bound).max()))
    assert 0.05 < worst < 1


def test_a_weight_that_is_off_is_never_more_than_one() -> None:
    one = np.full((1, 1), 200.0)
    bound = sigmoid_bound(one, one, np.ones((1, 1)), np.ones((1, 1), bool), scale=1.0, bias=0.0, dtype="bfloat16",
                          accumulate="input")  # fmt: skip
    assert bound.item() <= 1.1
    with pytest.raises(ValueError, match="accumulate must be"):
        difference_bound((one, one, one), (one, one, one), 1.0, dtype="float32", accumulate="float64")


def test_the_difference_has_the_budgets_of_both_maps() -> None:
    x, y, e, f = (np.array(a) for a in (2.0, -1.0, 1e-3, 2e-3))
    bound = difference_bound((x, e, np.abs(x)), (y, f, np.abs(y)), -0.5, dtype="float64", accumulate="input")
    given = {"x": x, "y": y, "e": e, "f": -f, "E": e, "F": f, "t": np.array(-0.5)}
    left, right = sides_of(DOCUMENT, "difference", {}, given)
    assert left.item() <= right.item() == pytest.approx(2e-3)
    assert right.item() < bound < right.item() * (1 + 1e-9)


def test_the_document_and_the_truth_hold_together() -> None:
    scores, values = np.array([0.5, -1.25]), np.array([2.0, -3.0])
    one = np.ones((1, 1))
    weights = sigmoid_weights(one, scores[:, None], np.array([[True, False]]), 1.0, 0.0)
    given = {"r": np.zeros(1), "x": np.zeros(1), "s": scores, "v": values, "f": np.array([1.0, 0.0])}
    left, right = sides_of(DOCUMENT, "hidden", {"m": 1, "n": 2}, given)
    np.testing.assert_allclose([left.item(), right.item()], (weights @ values).item(), rtol=1e-14)
    left, right = sides_of(DOCUMENT, "bias", {"n": 7}, {})
    ours = sigmoid_weights(one, 0 * one, np.ones((1, 1), bool), 1.0, -float(np.log(7))).item()
    np.testing.assert_allclose([left.item(), right.item()], ours, rtol=1e-14)
