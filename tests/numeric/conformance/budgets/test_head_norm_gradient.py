"""Gradients of a norm of each head: the truth is autograd's, right roundings lie within the budget, faults outside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from attention_core import oracle
from attention_core.conformance.budgets.budget import backward_bound, forward_bound, round_to
from attention_core.conformance.budgets.head_norm_bound import HeadNorm
from attention_core.conformance.budgets.head_norm_gradient import norm_gradients
from attention_core.conformance.budgets.rounding import Array

HOW: dict[str, Any] = {"accumulate": "float32"}


def draw(seed: int, kind: str, dtype: str) -> tuple[Array, Array, HeadNorm]:
    """Outputs, a cotangent and a norm, in a dtype; outputs of small heads, which epsilon weighs against."""
    rng = np.random.default_rng(seed)
    n, small = int(rng.integers(2, 33)), 2.0 ** -int(rng.integers(0, 7))
    out, down = (round_to(x * rng.standard_normal((2, 3, 5, n)), dtype) for x in (small, 1.0))
    eps = [1e-5, 1e-3, 0.25][seed % 3]
    return out, down, HeadNorm(kind, round_to(1 + 0.5 * rng.standard_normal(n), dtype), eps, 0.75)


def gradients_of_torch(out: Array, down: Array, norm: HeadNorm, dtype: torch.dtype) -> tuple[Array, Array]:
    """Gradients by torch in a dtype of float32 or more; what goes in and out is stored in `dtype`."""
    wide = torch.promote_types(dtype, torch.float32)
    x, weight = (torch.tensor(a, dtype=dtype).requires_grad_() for a in (out, norm.weight))
    if norm.kind == "rms":
        y = torch.nn.functional.rms_norm(x.to(wide), x.shape[-1:], weight.to(wide), norm.eps)
    else:
        y = torch.nn.functional.layer_norm(x.to(wide), x.shape[-1:], weight.to(wide), None, norm.eps)
    (norm.factor * y).backward(torch.tensor(down, dtype=wide))
    found: list[Tensor] = [x.grad, weight.grad]  # type: ignore[list-item]
    return found[0].double().numpy(), found[1].double().numpy()


@pytest.mark.parametrize("kind", ["rms", "layer"])
def test_the_truth_is_that_of_autograd(kind: str) -> None:
    for seed in range(9):
        out, down, norm = draw(seed, kind, "float64")
        found = norm_gradients(out, 0 * out, down, norm, dtype="float64", **HOW)
        for got, want in zip(
            gradients_of_torch(out, down, norm, torch.float64), (found.out, found.weight), strict=True
        ):
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("kind", ["rms", "layer"])
def test_right_gradients_stay_within_the_budget_and_wrong_ones_do_not(kind: str, dtype: str) -> None:
    worst, seen = 0.0, 0
    for seed in range(30):
        out, down, norm = draw(seed, kind, dtype)
        found = norm_gradients(out, 0 * out, down, norm, dtype=dtype, **HOW)
        got = gradients_of_torch(out, down, norm, getattr(torch, dtype))
        for x, want, bound in zip(got, (found.out, found.weight), (found.out_off, found.weight_off), strict=True):
            worst = max(worst, float((np.abs(x - want) / bound).max()))
        z = np.abs(found.out - norm.factor * norm.weight * down / np.sqrt((out**2).mean(-1, keepdims=True) + norm.eps))
        seen += bool((z > 2 * found.out_off).any())  # without the projection
    assert 0.02 < worst < 1
    assert seen == 30


def test_gradients_of_outputs_that_are_off_stay_within_the_budget() -> None:
    worst, rng = 0.0, np.random.default_rng(1)
    for seed in range(60):
        out, down, norm = draw(seed, ("rms", "layer")[seed % 2], "float64")
        bound = np.abs(rng.standard_normal(out.shape)) * np.abs(out).max() * 10.0 ** -rng.integers(1, 7)
        limit = norm_gradients(out, bound, down, norm, dtype="float64", **HOW)
        moved = norm_gradients(
            out + bound * rng.choice([-1.0, 1.0], out.shape), 0 * out, down, norm, dtype="float64", **HOW
        )
        for a, b, off in (
            (moved.out, limit.out, limit.out_off), (moved.weight, limit.weight, limit.weight_off)
        ):  # fmt: skip
            worst = max(worst, float((np.abs(a - b) / off).max()))
    assert 0.05 < worst < 1


def test_an_upstream_gradient_that_is_off_moves_gradients_by_no_more_than_its_slack() -> None:
    """Without the slack they are far outside."""
    worst, outside, rng = 0.0, 0.0, np.random.default_rng(2)
    for seed in range(20):
        query, key, value, down = (rng.standard_normal((2, 2, 4, 3)) for _ in range(4))
        query, down = (np.concatenate([x, x[:, :, ::-1]], 1) * 0.9 for x in (query, down))  # heads that share keys
        mask = rng.random((4, 4)) < 0.7
        mask[2] = seed % 2  # a row without a key
        truth = oracle.attention(query, key, value, mask, dead_rows="zeros")
        slack = np.abs(rng.standard_normal(down.shape)) * 1e-3
        moved = down + slack * rng.choice([-1.0, 1.0], down.shape)
        true, got = (
            oracle.gradients(query, key, value, x, mask, truth=truth, dead_rows="zeros") for x in (down, moved)
        )
        how: dict[str, Any] = {"mask": mask, "dead_rows": "zeros", "dtype": "float64", "accumulate": "float32"}
        bounds = forward_bound(query, key, value, truth, **how)
        limits, plain = (
            backward_bound(query, key, value, down, truth, true, **how, forward_bounds=bounds, slack=x)
            for x in (slack, None)
        )
        for name in ("query", "key", "value"):
            off = np.abs(getattr(got, name) - getattr(true, name))
            worst = max(worst, float((off / getattr(limits, name)).max()))
            outside = max(outside, float((off / getattr(plain, name)).max()))
    assert 0.1 < worst < 1 < outside


def test_a_row_of_which_nothing_is_known_has_no_bound() -> None:
    query, key, value, down = np.random.default_rng(3).standard_normal((4, 1, 1, 3, 2))
    truth = oracle.attention(query, key, value, dead_rows="zeros")
    true = oracle.gradients(query, key, value, down, truth=truth, dead_rows="zeros")
    slack = np.zeros_like(down)
    slack[0, 0, 1] = np.inf
    limits = backward_bound(query, key, value, down, truth, true, dtype="float32", dead_rows="zeros", slack=slack)
    assert np.isinf(limits.query[0, 0]).all(axis=-1).tolist() == [False, True, False]
    assert np.isinf(limits.key).all() and np.isinf(limits.value).all()
