"""attention_core.kernels.dot_product against a float64 loop, in exact arithmetic, and by its properties.

The loop is in attention_loop.py; where arithmetic is exact, results are compared without any bound.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_core.kernels.dot_product import (
    argmax_attention,
    attention_weights,
    dot_product_attention,
    temperature_attention,
    unscaled_attention,
)
from tests.properties.attention_loop import INF, Row, draw_call, rows_of

SETTINGS = settings(deadline=None, max_examples=40)
NAN = float("nan")


@SETTINGS
@given(st.data())
def test_output_weights_and_lse_agree_with_the_loop(data: st.DataObject) -> None:
    call = draw_call(data)
    out, weights, lse = dot_product_attention(**call, return_weights=True, return_lse=True)
    dtype = call["query"].dtype
    assert (out.dtype, weights.dtype, lse.dtype) == (dtype, dtype, torch.promote_types(dtype, torch.float32))
    n, d = call["key"].shape[-2:]
    u = torch.finfo(lse.dtype).eps / 2  # the computation; the results are rounded once more, to their dtype:
    last, tiny = torch.finfo(dtype).eps, torch.finfo(dtype).tiny
    for index, row in rows_of(call):
        error = np.abs(out[index].double().numpy() - row.out)
        assert (error <= 2 * row.bound(u, d, n) + last * np.abs(row.out) + tiny).all()
        one = Row(row.weights, 0.0, row.weights, row.weights, row.score_size)  # values = identity
        error = np.abs(weights[index].double().numpy() - row.weights)
        assert (error <= 2 * one.bound(u, d, n) + last * row.weights + tiny).all()
        if row.lse == -INF:
            assert lse[index] == -INF
        else:
            # The scores' own error, then n terms, one logarithm, one sum.
            limit = 2 * u * (d + n + 16) * (row.score_size + math.log(n) + 1)
            assert abs(float(lse[index]) - row.lse) <= limit


def whole_number_call(seed: int, kind: str) -> tuple[list[torch.Tensor], torch.Tensor, torch.Tensor]:
    """[query, key, value], mask and cotangent for which every step is exact in float64.

    All scores are 0 (query or key is 0), each row attends 0, 1, 2 or 4 keys, so the weights are powers of
    two, and the rest are small whole numbers; d = 4 makes the scale 1/2.
    """
    rng = np.random.default_rng(seed)
    n_q, n_kv, d, d_v = 5, 7, 4, 3
    inputs = [rng.integers(-8, 8, size=s).astype(float) for s in ((n_q, d), (n_kv, d), (n_kv, d_v))]
    inputs[0 if kind == "query is 0" else 1] *= 0
    mask = np.zeros((n_q, n_kv), dtype=bool)
    for i, count in enumerate(rng.permutation([0, 1, 2, 4, 4])):
        mask[i, rng.permutation(n_kv)[:count]] = True
    cotangent = rng.integers(-8, 8, size=(n_q, d_v)).astype(float)
    tensors = [torch.from_numpy(x).requires_grad_() for x in inputs]
    return tensors, torch.from_numpy(mask), torch.from_numpy(cotangent)


@pytest.mark.parametrize("kind", ["query is 0", "key is 0"])
@pytest.mark.parametrize("seed", range(5))
def test_gradients_are_exact_where_arithmetic_is(kind: str, seed: int) -> None:
    """dV = P^T dO, dS = P (dO V^T - dO . o), dQ = dS K / 2, dK = dS^T Q / 2, d bias = dS."""
    (q, k, v), mask, cotangent = whole_number_call(seed, kind)
    bias = torch.where(mask, 0.0, -INF).double().requires_grad_()
    got = torch.autograd.grad(dot_product_attention(q, k, v, bias), (q, k, v, bias), cotangent)
    Q, K, V, M, dO = (x.detach().numpy() for x in (q, k, v, mask, cotangent))
    P, dS = np.zeros(M.shape), np.zeros(M.shape)
    for i in range(len(M)):
        P[i] = M[i] / max(M[i].sum(), 1)
        out = sum(P[i, j] * V[j] for j in range(len(K)))
        dS[i] = [P[i, j] * sum(dO[i] * (V[j] - out)) for j in range(len(K))]
    for name, x, y in zip("QKVB", got, (dS @ K / 2, dS.T @ Q / 2, P.T @ dO, dS), strict=True):
        assert np.array_equal(x.numpy(), y), f"d{name} is {x}, but should be {y}"


@pytest.mark.parametrize("kind", ["query is 0", "key is 0"])
@pytest.mark.parametrize("garbage", [NAN, INF, -INF])
@pytest.mark.parametrize("seed", range(3))
def test_masked_garbage_is_ignored_forward_and_backward(kind: str, garbage: float, seed: int) -> None:
    """Exact numbers again: garbage in a key that some rows attend changes no row that does not."""
    (q, k, v), mask, cotangent = whole_number_call(seed, kind)
    seen_by = mask[:, 2]  # key 2 is garbage; its readers' outputs are not judged here
    cotangent = torch.where(seen_by[:, None], 0.0, cotangent)
    clean_rows = ~seen_by
    expected = dot_product_attention(q, k, v, mask & clean_rows[:, None])
    expected_grads = torch.autograd.grad(expected, (q, k, v), cotangent)
    with torch.no_grad():
        bad_k, bad_v = k.clone(), v.clone()
        bad_k[2], bad_v[2] = garbage, garbage
    inputs = [x.detach().requires_grad_() for x in (q, bad_k, bad_v)]
    # The readers of key 2 are dead here, so that the whole output is judged ...
    out = dot_product_attention(*inputs, mask & clean_rows[:, None])
    assert torch.equal(out, expected)
    for x, y in zip(torch.autograd.grad(out, inputs, cotangent), expected_grads, strict=True):
        assert torch.equal(x, y)
    # ... and alive here: the other rows do not notice that they read garbage.
    out = dot_product_attention(*inputs, mask)
    assert torch.equal(out[clean_rows], expected[clean_rows])
    query_gradient = torch.autograd.grad(out, inputs, torch.ones_like(out))[0]
    assert query_gradient[clean_rows].isfinite().all()


def test_attended_garbage_shows_exactly_in_the_rows_that_attend_it() -> None:
    q, k, v = torch.zeros(5, 2), torch.zeros(5, 2), torch.ones(5, 3)
    for name, garbage in (("key", NAN), ("key", INF), ("value", NAN), ("value", INF)):
        key, value = k.clone(), v.clone()
        (key if name == "key" else value)[3, 1] = garbage
        finite = dot_product_attention(q, key, value, is_causal=True).isfinite()
        wrong = finite.all(-1) if name == "key" else finite[:, 1]
        assert wrong.tolist() == [True, True, True, False, False], (name, garbage)
    value = torch.tensor([[1.0, 1], [INF, 1], [-INF, 1], [1, 1], [1, 1]])
    column = dot_product_attention(q, k, value, is_causal=True)[:, 0]
    assert column[:2].tolist() == [1, INF]
    assert column[2:].isnan().all()


@pytest.mark.parametrize("n_kv", [0, 3])
def test_a_row_without_keys_is_zero_with_zero_gradients(n_kv: int) -> None:
    q, k, v = (torch.full(shape, 2.0, requires_grad=True) for shape in ((2, 5, 7), (2, n_kv, 7), (2, n_kv, 11)))
    bias = torch.full((5, n_kv), -INF, requires_grad=True)
    for mask in (torch.zeros(5, n_kv, dtype=torch.bool), bias):
        out, lse = dot_product_attention(q, k, v, mask, return_lse=True)
        assert torch.equal(out, torch.zeros(2, 5, 11))
        assert torch.equal(lse, torch.full((2, 5), -INF))
        # The gradient through lse as well: exp(lse) weights a part in a merge.
        for x in torch.autograd.grad(out.sum() + lse.exp().sum(), (q, k, v)):
            assert torch.equal(x, torch.zeros_like(x))
    assert dot_product_attention(q[:, :0], k, v).shape == (2, 0, 11)


def test_huge_masked_numbers_are_not_seen_and_huge_logits_stay_finite() -> None:
    q, k, v = (
        torch.full((1, 2), 1e30),
        torch.tensor([[1.0, 0.0], [1e30, 1e30]]),
        torch.tensor([[2.0], [1e38]]),
    )
    q.requires_grad_(), k.requires_grad_(), v.requires_grad_()
    out = dot_product_attention(q, k, v, torch.tensor([True, False]))
    assert out.tolist() == [[2.0]]
    assert all(g.isfinite().all() for g in torch.autograd.grad(out.sum(), (q, k, v)))


def test_inputs_stay_as_they_are_and_views_are_read_right() -> None:
    base = torch.arange(2 * 3 * 5 * 7, dtype=torch.float64).reshape(2, 5, 3, 7).sin()
    q = base.transpose(1, 2)
    mask = torch.ones(5, 5).tril().log()
    before = [x.clone() for x in (base, mask)]
    out = dot_product_attention(q, q, q, mask, is_causal=True)
    assert all(torch.equal(x, y) for x, y in zip((base, mask), before, strict=True))
    for (b, h, i), row in rows_of(
        {"query": q, "key": q, "value": q, "attn_mask": mask, "is_causal": True, "scale": None}
    ):
        error = np.abs(out[b, h, i].numpy() - row.out)
        assert (error <= 2 * row.bound(torch.finfo(q.dtype).eps / 2, 7, 5)).all()


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**31), st.sampled_from([0.25, 0.5, 0.75]))
def test_dropout_drops_weights_and_scales_the_rest(seed: int, p: float) -> None:
    """With values = identity the output is the weights: each is 0 or w / (1 - p), exactly for w = 1/8."""
    torch.manual_seed(seed)
    eye = torch.eye(8).expand(3, 8, 8)
    out = dot_product_attention(torch.zeros(3, 8, 2), torch.zeros(3, 8, 2), eye, dropout_p=p)
    again = dot_product_attention(torch.zeros(3, 8, 2), torch.zeros(3, 8, 2), eye, dropout_p=p)
    kept = torch.tensor(0.125) * (1 / (1 - p))
    assert ((out == 0) | (out == kept)).all()
    # 192 draws, equal by chance with probability (p^2 + (1 - p)^2)^192 <= 0.625^192 < 1e-39.
    assert not torch.equal(out, again)
    assert 0 < int((out == 0).sum()) < out.numel()


def test_dropout_of_everything_and_of_nothing() -> None:
    x = torch.arange(12.0).reshape(1, 3, 4)
    assert torch.equal(dot_product_attention(x, x, x, dropout_p=1.0), torch.zeros_like(x))
    assert torch.equal(dot_product_attention(x, x, x, dropout_p=0.0), dot_product_attention(x, x, x))


def zeros(*shape: int) -> torch.Tensor:
    return torch.zeros(shape)


BAD_CALLS = [
    ((zeros(3, 2), zeros(5, 4), zeros(5, 2)), {}, "head sizes of query and key differ: 2 and 4"),
    ((zeros(3, 2), zeros(5, 2), zeros(7, 2)), {}, "lengths of key and value differ: 5 and 7"),
    ((zeros(3, 2), zeros(5, 2), zeros(5, 2)), {"attn_mask": zeros(3, 4)}, "does not broadcast to the scores"),
    (
        (zeros(3, 2), zeros(5, 2), zeros(5, 2)),
        {"attn_mask": zeros(2, 3, 5)},
        "does not broadcast to the scores",
    ),
    ((zeros(1, 2), zeros(5, 2), zeros(5, 2)), {"attn_mask": zeros(3, 5)}, "does not broadcast to the scores"),
    ((zeros(3, 2), zeros(5, 2), zeros(5, 2)), {"attn_mask": zeros(3, 5).int()}, "bool or floating"),
    (
        (zeros(4, 3, 2), zeros(3, 5, 2), zeros(3, 5, 2)),
        {"enable_gqa": True},
        "4 query heads are not divisible",
    ),
    (
        (zeros(4, 3, 2), zeros(0, 5, 2), zeros(0, 5, 2)),
        {"enable_gqa": True},
        "4 query heads are not divisible",
    ),
    ((zeros(4, 3, 2), zeros(2, 5, 2), zeros(2, 5, 2)), {}, "grouped queries need enable_gqa"),
    ((zeros(4, 3, 2), zeros(4, 5, 2), zeros(2, 5, 2)), {"enable_gqa": True}, "heads of key and value differ"),
    ((zeros(3, 2), zeros(5, 2), zeros(5, 2)), {"enable_gqa": True}, "need a head axis"),
    ((zeros(2, 4, 3, 2), zeros(3, 4, 5, 2), zeros(3, 4, 5, 2)), {}, "batch axes do not broadcast"),
    ((zeros(2), zeros(5, 2), zeros(5, 2)), {}, "at least the axes"),
    ((zeros(1, 3, 2), zeros(5, 2), zeros(5, 2)), {}, "number of axes"),
    ((zeros(3, 2), zeros(5, 2).half(), zeros(5, 2)), {}, "one floating-point dtype"),
    ((zeros(3, 2).int(), zeros(5, 2).int(), zeros(5, 2).int()), {}, "one floating-point dtype"),
    ((zeros(3, 2), zeros(5, 2), zeros(5, 2)), {"dropout_p": 1.5}, "probability"),
    ((zeros(3, 2), zeros(5, 2), zeros(5, 2)), {"dropout_p": NAN}, "probability"),
]


@pytest.mark.parametrize(("args", "kwargs", "words"), BAD_CALLS)
def test_contradictions_are_refused(args: Any, kwargs: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        dot_product_attention(*args, **kwargs)


def test_relatives_are_the_function_at_another_scale() -> None:
    """Same arguments in, same operations: the same bits, on the same storage."""
    rng = torch.Generator().manual_seed(3)
    q, k, v = (torch.randn(2, n, d, generator=rng) for n, d in ((3, 4), (5, 4), (5, 7)))
    mask = torch.rand(3, 5, generator=rng) < 0.7
    assert torch.equal(unscaled_attention(q, k, v, mask), dot_product_attention(q, k, v, mask, scale=1.0))
    # d = 4: 1 / (T sqrt(d)) is 1/4 exactly at T = 2.
    warm = temperature_attention(q, k, v, mask, temperature=2.0)
    assert torch.equal(warm, dot_product_attention(q, k, v, mask, scale=0.25))
    causal = dot_product_attention(q, k, v, mask, is_causal=True, return_weights=True)[1]
    assert torch.equal(attention_weights(q, k, mask, is_causal=True), causal)
    assert torch.equal(unscaled_attention(q, k, v, is_causal=True)[:, 0], v[:, 0])
    with pytest.raises(ValueError, match="temperature must be positive"):
        temperature_attention(q, k, v, temperature=0.0)


def test_argmax_selects_the_most_similar_key() -> None:
    """By hand: the products are 3, 1, 1, -3, so the first value comes back."""
    keys = torch.tensor([[0.0, 1, 2], [1, 1, 2], [-1, 1, -2], [0, -1, -2]])
    values = torch.tensor([[3.0, 2, -4], [3, -2, 4], [3, 2, 0], [3, 2, 4]])
    query = torch.tensor([[-2.0, 1, 1]])
    assert argmax_attention(query, keys, values).tolist() == [[3, 2, -4]]
    masked = argmax_attention(query, keys, values, torch.tensor([False, True, False, True]))
    assert masked.tolist() == [[3, -2, 4]]
    query = torch.tensor([[0.0, 1, 0]])  # products 1, 1, 1, -1: three keys share
    # A third is rounded, and processors add in other orders: 4 products of up to 12 / 3 each, to n u sum |w v|.
    shared = argmax_attention(query, keys, values * 3)
    torch.testing.assert_close(shared, torch.tensor([[9.0, 2, 0]]), rtol=0, atol=4 * 2**-24 * 12)


def test_argmax_has_no_gradient_to_query_and_key_and_shows_garbage() -> None:
    q, k, v = (torch.ones(n, 2, requires_grad=True) for n in (3, 5, 5))
    out = argmax_attention(q, k, v)
    grads = torch.autograd.grad(out.sum(), (q, k, v), allow_unused=True)
    assert grads[0] is None
    assert grads[1] is None
    assert grads[2] is not None
    dead = argmax_attention(q, k, v, torch.zeros(5, dtype=torch.bool))
    assert torch.equal(dead, torch.zeros(3, 2))
    assert argmax_attention(q, k[:0], v[:0]).tolist() == [[0, 0]] * 3
    bad = torch.where(torch.arange(5)[:, None] == 4, NAN, 1.0).expand(5, 2)
    assert argmax_attention(q, bad, v).isnan().all()
    assert torch.equal(argmax_attention(q, bad, v, torch.arange(5) < 4), torch.ones(3, 2))


# Anomaly detection warns that it is slow: it is what is wanted here.
@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
def test_no_nan_arises_beside_a_dead_row_even_inside_the_backward_passes() -> None:
    """A NaN that a later `where` hides would still stop everyone who looks for their own with this tool."""
    q, k, v = (torch.ones(s, dtype=torch.float64, requires_grad=True) for s in ((2, 3), (5, 3), (5, 4)))
    mask = torch.tensor([[False] * 5, [True] * 5])
    with torch.autograd.detect_anomaly(check_nan=True):
        out, lse = dot_product_attention(q, k, v, mask, return_lse=True)
        first = torch.autograd.grad(out.square().sum() + lse[1], (q, k, v), create_graph=True)
        second = torch.autograd.grad(sum(g.square().sum() for g in first), (q, k, v))
    assert all(g.isfinite().all() for g in (*first, *second))
    assert (first[0][0] == 0).all()
    assert (second[0][0] == 0).all()
