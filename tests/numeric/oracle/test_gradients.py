"""Tests of the gradients of attention_core.oracle.

First and second derivatives of the oracle against power series in ball arithmetic, and against torch.
A bound is gamma(number of roundings) times the same formula with every term made positive.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from attention_core import oracle
from tests.numeric import ball_attention as balls
from tests.numeric.oracle_cases import (
    D_V,
    KINDS,
    N_KV,
    N_Q,
    D,
    H,
    draw,
    gamma,
    masks,
    positive,
    spelled_out,
    weight_error,
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(2))
def test_gradients_lie_in_the_balls(kind: str, seed: int) -> None:
    q, k, v, c = draw(seed)
    mask, options = masks(seed)[kind]
    allow, bias = spelled_out(mask, options)
    truth = oracle.attention(q, k, v, mask, **options)
    got = oracle.gradients(q, k, v, c, mask, want_mask=True, truth=truth, **options)
    r = weight_error(q, k, allow, bias)
    # At most two weights, and sums over d_v, n_kv and all rows, in each term.
    factor = (1 + r) ** 2 * (1 + gamma(D_V + 2 * N_KV + H * N_Q + 12)) - 1
    limits = positive(truth.weights, q, k, v, c)
    inputs = {"query": q, "key": k, "value": v, "mask": bias}
    shared = mask is not None and mask.dtype != bool and len(mask) == 1
    for name, x in inputs.items():
        grad = getattr(got, name)
        if grad is None:
            assert name == "mask" and (mask is None or mask.dtype == bool)
            continue
        for at in np.ndindex(grad.shape):
            moves = {other: np.zeros_like(y) for other, y in inputs.items()}
            if name == "mask" and shared:
                moves[name][:, at[1], at[2]] = 1.0  # a mask broadcast over heads moves all of them
            else:
                moves[name][at] = 1.0
            outs, _ = balls.attention(q, k, v, allow, bias, tuple(moves.values()))
            limit = limits[name] if name != "mask" or shared else limits[name].repeat(H, 0)
            assert balls.distance(grad[at], balls.loss(outs, c)[1]) <= factor * limit[at], (name, at)
            assert x.ndim == grad.ndim


@pytest.mark.parametrize("kind", ["none", "bias with -inf", "causal"])
def test_second_gradients_lie_in_the_balls(kind: str) -> None:
    q, k, v, c = draw(7)
    mask, options = masks(7)[kind]
    allow, bias = spelled_out(mask, options)
    wq, wk, wv = (np.round(w * 2**20) / 2**20 for w in draw(8)[:3])
    zero = np.zeros_like(bias)
    got = oracle.second_gradients(q, k, v, c, (wq, wk, wv), mask, **options)
    truth = oracle.attention(q, k, v, mask, **options)
    r = weight_error(q, k, allow, bias)
    factor = (1 + r) ** 3 * (1 + gamma(2 * D + 2 * D_V + 4 * N_KV + H * N_Q + 24)) - 1

    def curvature(*move: np.ndarray) -> object:
        outs, _ = balls.attention(q, k, v, allow, bias, (*move, zero))
        return 2 * balls.loss(outs, c)[2]  # u^T (Hessian) u

    base = curvature(wq, wk, wv)
    limits = second_positive(truth.weights, q, k, v, c, wq, wk, wv)
    for index, name in enumerate(("query", "key", "value")):
        for at in np.ndindex(getattr(got, name).shape):
            unit = [np.zeros_like(x) for x in (q, k, v)]
            unit[index][at] = 1.0
            moved = [w + e for w, e in zip((wq, wk, wv), unit, strict=True)]
            # w + e must be exact for the polarisation to hold: the directions have twenty binary places.
            assert all(((m - e) == w).all() for m, e, w in zip(moved, unit, (wq, wk, wv), strict=True))
            exact = (curvature(*moved) - base - curvature(*unit)) / 2  # type: ignore[operator]
            assert balls.distance(getattr(got, name)[at], exact) <= factor * limits[name][at], (name, at)


def second_positive(
    p: np.ndarray, q: np.ndarray, k: np.ndarray, v: np.ndarray, c: np.ndarray, *directions: np.ndarray
) -> dict[str, np.ndarray]:
    """The second derivatives' formulas with every term positive."""
    q, k, v, c, wq, wk, wv = (np.abs(x) for x in (q, k, v, c, *directions))
    scale = 1 / math.sqrt(D)
    dp, dp_w = c @ v.swapaxes(-1, -2), c @ wv.swapaxes(-1, -2)
    s_w = scale * (wq @ k.swapaxes(-1, -2) + q @ wk.swapaxes(-1, -2))
    p_w = p * (s_w + (p * s_w).sum(-1, keepdims=True))
    centred = dp + (p * dp).sum(-1, keepdims=True)
    ds = p * centred
    ds_w = p_w * centred + p * (dp_w + (p_w * dp + p * dp_w).sum(-1, keepdims=True))
    return {
        "query": scale * (ds_w @ k + ds @ wk),
        "key": scale * (ds_w.swapaxes(-1, -2) @ q + ds.swapaxes(-1, -2) @ wq).sum(0, keepdims=True),
        "value": (p_w.swapaxes(-1, -2) @ c).sum(0, keepdims=True),
    }


@pytest.mark.parametrize("seed", range(4))
def test_torch_in_float64_agrees(seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, k, v, c = (rng.normal(size=s) for s in [(2, 6, 7, D), (2, 3, N_KV, D), (2, 3, N_KV, D_V), (2, 6, 7, D_V)])
    leaves = [torch.tensor(x, requires_grad=True) for x in (q, k, v)]
    out = torch.nn.functional.scaled_dot_product_attention(*leaves, enable_gqa=True)
    grads = torch.autograd.grad(out, leaves, torch.tensor(c), create_graph=True)
    directions = [torch.tensor(rng.normal(size=x.shape)) for x in (q, k, v)]
    paired = sum((g * w).sum() for g, w in zip(grads, directions, strict=True))
    second = torch.autograd.grad(paired, leaves)
    truth, first = oracle.attention(q, k, v), oracle.gradients(q, k, v, c)
    beyond = oracle.second_gradients(q, k, v, c, tuple(w.numpy() for w in directions))
    per_head = [np.repeat(x, 2, axis=1) for x in (k, v)]
    r = weight_error(q, per_head[0], np.ones((7, N_KV), dtype=bool), np.zeros((2, 6, 7, N_KV)))
    # Both sides round: twice the factor. Terms are bounded by the largest of each input.
    factor = 2 * ((1 + r) ** 3 * (1 + gamma(100)) - 1)
    top = [float(np.abs(x).max()) for x in (q, k, v, c)]
    bound = factor * top[2]
    assert np.abs(out.detach().numpy() - truth.out).max() <= bound
    inner = 2 * D_V * top[3] * top[2]
    for name, got in zip(("query", "key", "value"), grads, strict=True):
        reach = {"query": inner * top[1], "key": 14 * inner * top[0], "value": 14 * top[3]}[name]
        assert np.abs(got.detach().numpy() - getattr(first, name)).max() <= factor * reach
    w = max(float(x.abs().max()) for x in directions)
    big = max(*top, w)
    for name, got in zip(("query", "key", "value"), second, strict=True):
        # S' <= 2 d big^2 / sqrt(d), P' <= 2 S', dP <= d_v big^2; ten such products, over a group's 14 rows.
        reach = 14 * 10 * (4 * math.sqrt(D) * big**2) * (D_V * big**2) * big
        assert np.abs(got.numpy() - getattr(beyond, name)).max() <= factor * reach
