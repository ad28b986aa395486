"""Gradients of projections: within their bounds where float32 computes them, outside where two bytes do."""

from __future__ import annotations

import numpy as np
import pytest

from attention_core.conformance.budgets.linear_backward import (
    Judged,
    bias_gradient,
    exact,
    input_gradient,
    product_sum,
    weight_gradient,
)
from attention_core.conformance.worker.exchange import NDArray


def moved(rng: np.random.Generator, values: NDArray) -> tuple[Judged, NDArray]:
    """Numbers that may be off by 1e-5 of their size, and float32 numbers that are off by almost as much."""
    bound = 1e-5 * np.abs(values)
    return Judged(values, bound), np.float32(values + 0.98 * bound * rng.choice([-1.0, 1.0], values.shape))


@pytest.mark.parametrize("seed", range(4))
def test_gradients_in_single_precision_stay_within_their_bounds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weight = rng.integers(-8, 9, (5, 7)) / 8
    (cotangent, down), (tokens, x) = (moved(rng, rng.standard_normal((2, 37, k))) for k in (5, 7))
    both = down @ np.float32(weight) + down @ np.float32(weight)
    for judged, got in (
        (weight_gradient(cotangent, tokens), np.einsum("bni,bnj->ij", down, x)),
        (bias_gradient(cotangent), down.sum(axis=(0, 1))),
        (input_gradient([cotangent, cotangent], [weight, weight]), both),
    ):
        assert got.dtype == np.float32
        assert np.all(np.abs(got - judged.want) <= judged.bound)
        assert judged.bound.max() < 5e-3  # and says something


def test_an_error_that_is_not_known_stays_so() -> None:
    unknown = Judged(np.ones((1, 1)), np.full((1, 1), np.inf))
    assert product_sum(unknown, exact(np.zeros((1, 1))), 1).bound == np.inf


def test_a_running_sum_in_two_bytes_is_outside() -> None:
    found = bias_gradient(exact(np.ones((1, 600, 1))))
    assert found.want == 600  # in bfloat16 such a sum stops at 256
    assert found.bound < 0.1
