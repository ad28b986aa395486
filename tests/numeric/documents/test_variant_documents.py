"""The budgets of sigmoid and differential attention are those of derivations/variants.md, step by step."""

from __future__ import annotations

import numpy as np
import pytest

from attention_core.conformance.budgets.error_rows import float_format, gamma
from attention_core.conformance.budgets.variant_bound import (
    ABSOLUTE,
    SIGMOID_ROUNDINGS,
    STORES,
    difference_bound,
    sigmoid_bound,
    sigmoid_weights,
)
from tests.numeric.document_values import sides_of

DOCUMENT = "variants.md"
SCORES = np.array([1.25, -0.75, 0.5])
VALUES = np.array([-1.5, 0.5, 2.0])
ONE = np.ones((1, 1))
FORMATS = [("float32", "float32"), ("bfloat16", "float32"), ("bfloat16", "input")]


def weights_of(scores: np.ndarray, pairs: np.ndarray | None = None, bias: float = 0.0) -> np.ndarray:
    """The weights of one query of 1 for keys that are the scores."""
    allowed = np.ones((1, len(scores)), dtype=bool) if pairs is None else pairs[None]
    return sigmoid_weights(ONE, scores[:, None], allowed, 1.0, bias)[0]


def test_a_pair_is_left_out_by_the_factor_of_its_weight() -> None:
    flags = np.array([1.0, 0.0, 1.0])
    given = {"r": [0.5, -2.0], "x": [3.0, -0.25], "s": SCORES, "v": VALUES, "f": flags}
    scores, values = np.append([0.5, -2.0], SCORES), np.append([3.0, -0.25], VALUES)
    allowed = np.append([True, True], flags.astype(bool))
    for side in sides_of(DOCUMENT, "hidden", {"m": 2, "n": 3}, given):
        assert side.item() == pytest.approx(weights_of(scores, allowed) @ values, rel=1e-13)


@pytest.mark.parametrize("score", [-3.0, -0.5, 0.25, 4.0])
def test_a_weight_is_off_as_its_score_is(score: float) -> None:
    moved, most = sides_of(DOCUMENT, "weight-error", {}, {"s": score, "d": -0.125})
    (weight,) = weights_of(np.array([score]))
    assert moved.item() == pytest.approx(weights_of(np.array([score]), bias=-0.125).item(), rel=1e-13)
    assert most.item() == pytest.approx(np.exp(0.125) * weight, rel=1e-13)


def test_a_hyperbolic_tangent_is_off_by_units_of_one() -> None:
    unit = float_format("float32", "float32").a
    for score in np.linspace(-12, 12, 97):
        left, right = sides_of(DOCUMENT, "near-one", {}, {"s": float(score)})
        assert left.item() == pytest.approx(right.item(), rel=1e-13)
        single = np.float32(0.5) + np.float32(0.5) * np.tanh(np.float32(score) / np.float32(2))
        assert abs(float(single) - left.item()) <= ABSOLUTE * unit


@pytest.mark.parametrize(("dtype", "accumulate"), FORMATS)
def test_the_bound_of_an_output_is_that_of_its_weights_and_of_the_sum(dtype: str, accumulate: str) -> None:
    fmt = float_format(dtype, accumulate)
    bias, n = 0.375, len(SCORES)
    weights = weights_of(SCORES, bias=bias)
    factor = (1 + gamma(1, fmt.a)) * (1 + gamma(STORES, fmt.w)) - 1
    lost = fmt.flush_between * 3
    off = []
    for score, weight in zip(SCORES, weights, strict=True):
        moved = {"s": score + bias, "d": float(factor * (abs(score) + bias) + lost)}
        grown = sides_of(DOCUMENT, "weight-error", {}, moved)[1].item()
        off.append(grown * (1 + gamma(SIGMOID_ROUNDINGS, fmt.w)) - weight + ABSOLUTE * fmt.a + fmt.flush_between)
    given = {"w": weights, "v": VALUES, "e": off, "E": off}
    summed = sides_of(DOCUMENT, "sum-error", {"n": n}, given)[1].item()
    summed += gamma(n + 2, fmt.a) * ((weights + off) @ np.abs(VALUES))
    wanted = (1 + fmt.u) * summed + fmt.u * abs(weights @ VALUES) + (n + 2) * fmt.flush
    found = sigmoid_bound(
        ONE, SCORES[:, None], VALUES[:, None], np.ones((1, n), dtype=bool), scale=1.0, bias=bias, dtype=dtype,
        accumulate=accumulate,
    )  # fmt: skip
    assert found.item() == pytest.approx(wanted, rel=1e-6)  # growth less 1 in float64: 2^-53 beside 2^-24


@pytest.mark.parametrize(("dtype", "accumulate"), FORMATS)
def test_the_bound_of_a_difference_is_that_of_both_outputs(dtype: str, accumulate: str) -> None:
    fmt = float_format(dtype, accumulate)
    x, y, first, second, t = 0.75, -1.25, 0.125, 0.0625, -0.5
    given = {"x": x, "y": y, "e": first, "f": second, "E": first, "F": second, "t": t}
    most = sides_of(DOCUMENT, "difference", {}, given)[1].item()
    spread = 1.5 + abs(t) * 2.0
    wanted = most + gamma(3, fmt.w) * (spread + most) + fmt.u * abs(x - t * y) + 4 * fmt.flush
    maps = [tuple(np.array(number) for number in one) for one in ((x, first, 1.5), (y, second, 2.0))]
    found = difference_bound(maps[0], maps[1], t, dtype=dtype, accumulate=accumulate)
    assert found.item() == pytest.approx(wanted, rel=1e-13)
