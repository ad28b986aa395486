"""Tests of attention_core.conformance.budgets.budget at its edges.

Where the error budget has nothing, or little, to say: large errors, dead rows, garbage, empty sizes.
What one row cannot know must not spoil its neighbours, and no bound is NaN or negative.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_core import oracle
from attention_core.conformance.budgets import budget
from tests.numeric import budget_kernels as kernels
from tests.numeric.budget_kernels import DTYPES


def test_hull_where_errors_of_scores_are_large() -> None:
    problem = kernels.draw("one-hot", 0, "bfloat16")
    huge = replace(problem, query=problem.query * 64)
    truth, gradients = kernels.truth_of(huge)
    forward, back = kernels.bounds_of(huge, truth, gradients, "input")
    assert forward.exact is not None and not forward.exact.any() and forward.finite is not None
    assert forward.finite.all()
    # Any convex combination of the values is allowed there, and little more than that.
    low, high = huge.value.min(-2, keepdims=True), huge.value.max(-2, keepdims=True)
    reach = np.maximum(high - truth.out, truth.out - low)
    assert forward.out is not None
    assert (forward.out >= reach).all() and (forward.out <= reach + 0.1 * np.abs(huge.value).max()).all()
    assert back.query is not None and np.isinf(back.query).all()


def test_rows_with_large_errors_do_not_spoil_the_others() -> None:
    problem = kernels.draw("causal", 0, "float32")
    query = problem.query.copy()
    query[:, :, -1] *= 2.0**24
    huge = replace(problem, query=query)
    truth, gradients = kernels.truth_of(huge)
    forward, back = kernels.bounds_of(huge, truth, gradients, "input")
    assert forward.exact is not None and back.query is not None and back.key is not None
    assert forward.exact[:, :, :-1].all() and not forward.exact[:, :, -1].any()
    assert np.isfinite(back.query[:, :, :-1]).all() and np.isinf(back.query[:, :, -1]).all()
    # The last of the 19 rows attends keys 0..18, and only their gradients are beyond judgement.
    assert np.isinf(back.key[:, :, :19]).all() and np.isfinite(back.key[:, :, 19:]).all()


@pytest.mark.parametrize("regime", ["normal", "grouped"])
def test_a_row_whose_scores_may_overflow_leaves_the_others_judged(regime: str) -> None:
    problem = kernels.draw(regime, 0, "float16")
    query = problem.query.copy()
    query[:, :, -1] = 2.0**14
    huge = replace(problem, query=query)
    forward, back = kernels.bounds_of(huge, *kernels.truth_of(huge), "input")
    for found in (forward.finite, back.finite):
        assert found is not None and found.shape == problem.query.shape[:-1]
        assert found[:, :, :-1].all() and not found[:, :, -1].any()


def test_far_keys_of_a_finite_bias_are_no_reason_to_give_up() -> None:
    problem = kernels.draw("bias", 0, "float32")
    assert problem.mask is not None
    mask = problem.mask.copy()
    mask[..., ::2] = -1e9
    biased = replace(problem, mask=budget.round_to(mask, "float32"))
    truth, gradients = kernels.truth_of(biased)
    forward, back = kernels.bounds_of(biased, truth, gradients, "input")
    assert forward.exact is not None and forward.exact.all() and forward.out is not None
    assert forward.out.max() < 1e-3 * np.abs(biased.value).max()
    found = kernels.ratios(kernels.run(kernels.naive, biased), biased, "input")
    assert max(found.values()) <= 1
    assert back.exact is not None and back.exact.all()


@pytest.mark.parametrize("n_q", [1, 64])
def test_weights_near_the_end_of_the_range_keep_their_bound(n_q: int) -> None:
    """Two keys 500 below the leading one, equal in score and opposite in value: the truth is 0, a kernel's is not.

    Their weights near 1e-217 are far above the smallest numbers, but the product of two such is not; n_q = 64 takes
    the path of many rows (Cauchy-Schwarz), n_q = 1 that of few.
    """
    query = np.ones((1, 1, n_q, 1))
    key = np.array([0.0, -500.0, -500.0, *[-800.0] * 13]).reshape(1, 1, 16, 1)
    value = np.zeros((1, 1, 16, 8))
    value[0, 0, 1], value[0, 0, 2] = 1.0, -1.0
    truth = oracle.attention(query, key, value, scale=1.0)
    bound = budget.forward_bound(query, key, value, truth, scale=1.0, dtype="float64", accumulate="input").out
    assert bound is not None
    # A score of 500 may be off by an ulp, so that one of the two weights is larger by that factor.
    off = truth.weights[0, 0, 0, 1] * np.expm1(np.spacing(500.0))
    assert (truth.out == 0).all()
    assert (bound > off).all()


@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_a_weight_that_float16_cannot_hold_may_pass_no_gradient(scale: float) -> None:
    """Softmax in float16 gives 2^-26 as 0, and its gradient is that of the stored 0, however far apart the values."""
    query, key = np.ones((1, 1, 1, 1)) / scale, np.array([0.0, -18.0]).reshape(1, 1, 2, 1)  # e^-18 = 1.5e-8
    value = np.array([-8.0, 8.0]).reshape(1, 1, 2, 1)
    cotangent = np.ones((1, 1, 1, 1))
    truth = oracle.attention(query, key, value, scale=scale)
    true = oracle.gradients(query, key, value, cotangent, scale=scale, truth=truth)
    leaves = [torch.tensor(x, dtype=torch.float16, requires_grad=True) for x in (query, key, value)]
    out = torch.softmax(leaves[0] @ leaves[1].mT * scale, dim=-1) @ leaves[2]
    (found,) = torch.autograd.grad(out, leaves[:1], torch.ones_like(out))
    bounds = budget.backward_bound(
        query, key, value, cotangent, truth, true, scale=scale, dtype="float16", accumulate="input"
    )
    assert float(found) == 0 != true.query.item() and bounds.query is not None
    assert abs(true.query.item()) <= bounds.query.item()


@pytest.mark.parametrize("garbage", [np.nan, np.inf, 2.0**60])
def test_masked_content_changes_no_bound(garbage: float) -> None:
    problem = kernels.draw("causal", 0, "float32")
    key, value = problem.key.copy(), problem.value.copy()
    key[:, :, 19:], value[:, :, 19:] = garbage, garbage  # no query reaches these
    dirty = replace(problem, key=key, value=value)
    clean, other = (kernels.bounds_of(p, *kernels.truth_of(p), "input") for p in (problem, dirty))
    for before, after in zip(clean, other, strict=True):
        for name in ("out", "lse", "query", "key", "value", "mask", "exact", "finite"):
            if getattr(before, name, None) is not None:
                np.testing.assert_array_equal(getattr(before, name), getattr(after, name), err_msg=name)


def test_attended_garbage_is_not_judged_and_stays_where_it_is() -> None:
    problem = kernels.draw("causal", 0, "float32")
    value = problem.value.copy()
    value[:, :, 5, 0] = np.nan
    dirty = replace(problem, value=value)
    forward, back = kernels.bounds_of(dirty, *kernels.truth_of(dirty), "input")
    assert forward.out is not None and back.key is not None and back.value is not None
    assert np.isfinite(forward.out[:, :, :5]).all() and np.isinf(forward.out[:, :, 5:]).all()
    assert np.isinf(back.key[:, :, :19]).all() and np.isfinite(back.key[:, :, 19:]).all()


def test_dead_rows() -> None:
    problem = kernels.draw("causal", 0, "float32")
    assert problem.mask is not None
    mask = problem.mask.copy()
    mask[3] = -np.inf
    p = replace(problem, mask=mask)
    for dead_rows in ("zeros", "nan", "uniform"):
        truth = oracle.attention(*p.arrays, p.mask, dead_rows=dead_rows)
        bounds = budget.forward_bound(*p.arrays, truth, mask=p.mask, dtype="float32")
        assert bounds.out is not None and bounds.lse is not None and bounds.exact is not None
        assert (bounds.lse[:, :, 3] == 0).all() and bounds.exact.all()
        if dead_rows != "uniform":
            assert (bounds.out[:, :, 3] == 0).all()
            continue
        mean = torch.tensor(p.value).float().mean(-2).double().numpy()
        assert (np.abs(mean - truth.out[:, :, 3]) <= bounds.out[:, :, 3]).all()
        assert bounds.out[:, :, 3].max() < 1e-4
    gradients = oracle.gradients(*p.arrays, p.cotangent, p.mask)
    truth = oracle.attention(*p.arrays, p.mask)
    back = budget.backward_bound(*p.arrays, p.cotangent, truth, gradients, mask=p.mask, dtype="float32")
    assert back.query is not None
    assert back.query[:, :, 3].max() <= budget.TINY["float32"] * 2**24  # underflow alone


@pytest.mark.parametrize("shape", [(0, 1, 1, 1), (1, 0, 1, 1), (1, 1, 0, 3), (1, 1, 3, 0), (1, 1, 1, 1)])
@pytest.mark.parametrize("d", [0, 1])
def test_empty_sizes(shape: tuple[int, int, int, int], d: int) -> None:
    B, H, n_q, n_kv = shape
    q, k, v = np.ones((B, H, n_q, d)), np.ones((B, H, n_kv, d)), np.ones((B, H, n_kv, 2))
    truth = oracle.attention(q, k, v)
    gradients = oracle.gradients(q, k, v, truth.out, truth=truth)
    forward = budget.forward_bound(q, k, v, truth, dtype="float32")
    back = budget.backward_bound(q, k, v, truth.out, truth, gradients, dtype="float32")
    assert forward.out is not None and forward.out.shape == truth.out.shape
    assert back.key is not None and back.key.shape == k.shape
    assert back.query is not None and back.query.shape == q.shape


FRIENDLY = [0.0, 1.0, -1.0, 0.5, 3.0, 1e-38, -1e-45, 1e10, -1e19, 3e38, 65504.0, 1e-300, 1e300]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_bounds_are_never_nan_or_negative(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(sorted(DTYPES)))
    sizes = st.integers(1, 3)
    n_q, n_kv, d = data.draw(sizes), data.draw(sizes), data.draw(sizes)
    largest = budget.HUGE[dtype]
    numbers = st.sampled_from([x for x in FRIENDLY if abs(x) <= largest])

    def array(*shape: int) -> np.ndarray:
        flat = data.draw(st.lists(numbers, min_size=math.prod(shape), max_size=math.prod(shape)))
        return budget.round_to(np.array(flat).reshape(1, 1, *shape), dtype)

    q, k, v, c = array(n_q, d), array(n_kv, d), array(n_kv, 2), array(n_q, 2)
    mask = np.where(np.random.default_rng(0).random((n_q, n_kv)) < 0.2, -np.inf, array(n_q, n_kv)[0, 0])
    scale = data.draw(st.sampled_from([None, 0.0, 1.0, -2.0, 100.0]))
    truth = oracle.attention(q, k, v, mask, scale=scale)
    gradients = oracle.gradients(q, k, v, c, mask, scale=scale, truth=truth, want_mask=True)
    for accumulate in ("input", "float32"):
        options = {"mask": mask, "scale": scale, "dtype": dtype, "accumulate": accumulate}
        forward = budget.forward_bound(q, k, v, truth, **options)
        back = budget.backward_bound(q, k, v, c, truth, gradients, want_mask=True, **options)
        for bounds in (forward, back):
            for name in ("out", "lse", "query", "key", "value", "mask"):
                bound = getattr(bounds, name, None)
                assert bound is None or (bound >= 0).all(), (name, bound)  # NaN >= 0 is false
        assert forward.out is not None and forward.exact is not None and forward.finite is not None
        assert (np.isfinite(forward.out).all(-1) | ~forward.finite).all()
        assert (forward.finite | ~forward.exact).all()
