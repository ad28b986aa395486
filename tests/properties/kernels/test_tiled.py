"""attention_core.kernels.tiled: the same function as the loop in attention_loop.py, at every block size."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_core.kernels.dot_product import dot_product_attention
from attention_core.kernels.tiled import tiled_attention
from tests.properties.attention_loop import INF, draw_call, rows_of

NAN = float("nan")


@settings(deadline=None, max_examples=40)
@given(st.data(), st.integers(1, 8))
def test_output_and_lse_agree_with_the_loop(data: st.DataObject, block_size: int) -> None:
    """Each key block adds at most four roundings (correction, its product, two sums) to those of the loop."""
    call = draw_call(data)
    out, lse = tiled_attention(**call, block_size=block_size, return_lse=True)
    dtype = call["query"].dtype
    assert (out.dtype, lse.dtype) == (dtype, torch.promote_types(dtype, torch.float32))
    n, d = call["key"].shape[-2:]
    roundings = n + 4 * math.ceil(n / block_size)
    u, last = torch.finfo(lse.dtype).eps / 2, torch.finfo(dtype).eps
    for index, row in rows_of(call):
        error = np.abs(out[index].double().numpy() - row.out)
        limit = 2 * row.bound(u, d, roundings) + last * np.abs(row.out) + torch.finfo(dtype).tiny
        assert (error <= limit).all()
        if row.lse == -INF:
            assert lse[index] == -INF
        else:
            limit = 2 * u * (d + roundings + 16) * (row.score_size + math.log(n) + 1)
            assert abs(float(lse[index]) - row.lse) <= limit


@pytest.mark.parametrize("block_size", [1, 2, 3, 7, 64])
def test_gradients_are_exact_where_arithmetic_is(block_size: int) -> None:
    """Equal scores, 4 attended keys of 7: weights 1/4, whole numbers elsewhere, so both ways are exact.

    The attended keys lie in different blocks, the first blocks of some rows are empty, row 2 is dead, and
    key 6 holds NaN that nobody attends.
    """
    rng = np.random.default_rng(5)
    q, k, v = (torch.from_numpy(rng.integers(-8, 8, size=s).astype(float)) for s in ((3, 4), (7, 4), (7, 5)))
    cotangent = torch.from_numpy(rng.integers(-8, 8, size=(3, 5)).astype(float))
    mask = torch.tensor([[1, 0, 1, 1, 0, 1, 0], [0, 0, 1, 1, 1, 1, 0], [0] * 7]).bool()
    for zero in (q, k):
        inputs = [torch.where(torch.tensor(x is zero), 0.0, x) for x in (q, k, v)]
        clean = [x.clone().requires_grad_() for x in inputs]
        expected = dot_product_attention(*clean, mask)
        inputs[1][6], inputs[2][6] = NAN, NAN
        dirty = [x.requires_grad_() for x in inputs]
        out = tiled_attention(*dirty, mask, block_size=block_size)
        assert torch.equal(out, expected)
        grads = torch.autograd.grad(out, dirty, cotangent)
        for x, y in zip(grads, torch.autograd.grad(expected, clean, cotangent), strict=True):
            assert torch.equal(x, y)


def test_large_logits_that_grow_from_block_to_block_stay_finite() -> None:
    """Each block raises the maximum by 1000: exp would overflow without the shift; the last key wins."""
    q, k, v = torch.tensor([[1000.0]]), torch.arange(5.0)[:, None], torch.eye(5)
    for keys in (k, -k):
        out, lse = tiled_attention(q, keys, v, block_size=1, scale=1.0, return_lse=True)
        assert out.tolist() == [v[keys.argmax()].tolist()]
        assert lse.item() == 1000 * keys.max()


@pytest.mark.parametrize("n_kv", [0, 5])
def test_a_row_without_keys_is_zero_with_zero_gradients(n_kv: int) -> None:
    q, k, v = (torch.full(s, 2.0, requires_grad=True) for s in ((3, 7), (n_kv, 7), (n_kv, 11)))
    mask = torch.zeros(3, n_kv, dtype=torch.bool)
    out, lse = tiled_attention(q, k, v, mask, block_size=2, return_lse=True)
    assert torch.equal(out, torch.zeros(3, 11))
    assert torch.equal(lse, torch.full((3,), -INF))
    for x in torch.autograd.grad(out.sum() + lse.exp().sum(), (q, k, v)):
        assert torch.equal(x, torch.zeros_like(x))


def test_attended_garbage_shows_exactly_in_the_rows_that_attend_it() -> None:
    x = torch.zeros(5, 2)
    bad = torch.where(torch.arange(5)[:, None] == 3, NAN, x)
    for key, value in ((bad, x), (x, bad)):
        finite = tiled_attention(x, key, value, is_causal=True, block_size=2).isfinite().all(-1)
        assert finite.tolist() == [True, True, True, False, False]


def test_dropout_drops_weights_and_scales_the_rest() -> None:
    """As in the plain function: 0 or w / (1 - p), with the normaliser of all keys."""
    torch.manual_seed(0)
    x = torch.zeros(3, 8, 2)
    out = tiled_attention(x, x, torch.eye(8).expand(3, 8, 8), dropout_p=0.5, block_size=3)
    assert ((out == 0) | (out == 0.25)).all()
    assert 0 < int((out == 0).sum()) < out.numel()


BAD_CALLS: list[tuple[tuple[int, ...], dict[str, Any], str]] = [
    ((5, 2), {"block_size": 0}, "block_size must be at least 1"),
    ((5, 2), {"dropout_p": -0.1}, "probability"),
    ((5, 3), {}, "head sizes of query and key differ"),
]


@pytest.mark.parametrize(("shape", "kwargs", "words"), BAD_CALLS)
def test_bad_calls_are_refused(shape: tuple[int, ...], kwargs: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        tiled_attention(torch.zeros(3, 2), torch.zeros(shape), torch.zeros(5, 2), **kwargs)
