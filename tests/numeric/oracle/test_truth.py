"""Tests of attention_core.oracle.

The oracle against ball arithmetic and published numbers: nothing here trusts its own formulas.
What is masked, dead or garbage is compared with what the definition says, exactly where it is exact.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from attention_core import oracle
from tests.numeric import ball_attention as balls
from tests.numeric.oracle_cases import (
    D_V,
    H_KV,
    KINDS,
    N_KV,
    N_Q,
    D,
    H,
    U,
    draw,
    gamma,
    masks,
    positive,
    spelled_out,
    weight_error,
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("size", [1.0, 20.0])
def test_values_lie_in_the_balls(kind: str, seed: int, size: float) -> None:
    q, k, v, _ = draw(seed, size)
    mask, options = masks(seed)[kind]
    allow, bias = spelled_out(mask, options)
    truth = oracle.attention(q, k, v, mask, **options)
    outs, sums = balls.attention(q, k, v, allow, bias)
    r = weight_error(q, k, allow, bias)
    assert not truth.dead.any()
    for h, i in itertools.product(range(H), range(N_Q)):
        lse = sums[h][i][0].log()
        # log(1 + r) of the sum, two roundings of the result, one of the maximum.
        assert balls.distance(truth.lse[h, i], lse) <= r + 4 * U * (abs(truth.lse[h, i]) + math.log(N_KV))
        for c in range(D_V):
            limit = (r + gamma(N_KV + 2)) * (1 + r) * (truth.weights[h, i] @ np.abs(v[0, :, c]))
            assert balls.distance(truth.out[h, i, c], outs[h][i][c][0]) <= limit


def test_scores_of_the_published_argmax_example() -> None:
    # A published exercise on "argmax attention": scores 3, 1, 1, -3, and the output (3, 2, -4).
    key = np.array([[0, 1, 2], [1, 1, 2], [-1, 1, -2], [0, -1, -2]], dtype=float)[None]
    value = np.array([[3, 2, -4], [3, -2, 4], [3, 2, 0], [3, 2, 4]], dtype=float)[None]
    query = np.array([[[-2.0, 1.0, 1.0]]])
    truth = oracle.attention(query, key, value, scale=1.0)
    assert truth.scores[0, 0].tolist() == [3.0, 1.0, 1.0, -3.0]
    # Scaled by 2^10 the gap of 2048 underflows: the argmax exactly.
    assert oracle.attention(query, key, value, scale=1024.0).out[0, 0].tolist() == [3.0, 2.0, -4.0]


@pytest.mark.parametrize(
    ("scores", "printed"),
    [
        # en.wikipedia.org/wiki/Softmax_function, example.
        ([1, 2, 3, 4, 1, 2, 3], "0.02364054 0.06426166 0.1746813 0.474833 0.02364054 0.06426166 0.1746813"),
        # Alammar, "The Illustrated Transformer": 112 / 8 and 96 / 8.
        ([14, 12], "0.88 0.12"),
    ],
)
def test_published_softmax(scores: list[float], printed: str) -> None:
    n = len(scores)
    key, value = np.array(scores, dtype=float).reshape(1, n, 1), np.eye(n)[None]
    out = oracle.attention(np.ones((1, 1, 1)), key, value, scale=1.0).out[0, 0]
    for got, text in zip(out, printed.split(), strict=True):
        assert abs(got - float(text)) <= 0.5 * 10.0 ** -len(text.split(".")[1])  # half its last digit


def test_dead_rows_by_each_convention() -> None:
    q, k, v, c = draw(3)
    mask = np.ones((N_Q, N_KV), dtype=bool)
    mask[1] = False
    plain = oracle.attention(q, k, v, mask)
    assert plain.dead.tolist() == [[False, True, False]] * H
    assert (plain.lse[:, 1] == -np.inf).all() and (plain.weights[:, 1] == 0).all()
    expected = {"zeros": np.zeros(D_V), "unspecified": np.zeros(D_V), "nan": np.full(D_V, np.nan)}
    for name, row in expected.items():
        out = oracle.attention(q, k, v, mask, dead_rows=name).out
        np.testing.assert_array_equal(out[:, 1], np.tile(row, (H, 1)))
        np.testing.assert_array_equal(out[:, ::2], plain.out[:, ::2])
    mean = oracle.attention(q, k, v, mask, dead_rows="uniform").out[:, 1]
    assert (np.abs(mean - v[0].mean(0)) <= 2 * gamma(N_KV) * np.abs(v[0]).mean(0)).all()
    with pytest.raises(ValueError, match="dead_rows must be"):
        oracle.attention(q, k, v, mask, dead_rows="ones")
    got = oracle.gradients(q, k, v, c, np.where(mask, 0.0, -np.inf), want_mask=True)
    assert got.mask is not None
    assert (got.query[:, 1] == 0).all() and (got.mask[1] == 0).all()
    other = c.copy()
    other[:, 1] *= 5.0  # what a dead row is asked for reaches nobody
    np.testing.assert_array_equal(got.value, oracle.gradients(q, k, v, other, mask).value)
    uniform = oracle.gradients(q, k, v, c, mask, dead_rows="uniform").value - got.value
    limit = gamma(2 * H * N_Q + N_KV) * np.abs(c).sum((0, 1))
    assert (np.abs(uniform - c[:, 1].sum(0) / N_KV) <= limit).all()


def test_no_keys_is_dead_and_a_large_finite_bias_is_not() -> None:
    q, k, v, c = draw(4)
    empty = oracle.attention(q, k[:, :0], v[:, :0])
    assert empty.dead.all() and (empty.out == 0).all() and (empty.lse == -np.inf).all()
    assert oracle.gradients(q, k[:, :0], v[:, :0], c).key.shape == (H_KV, 0, D)
    assert not oracle.attention(q, k, v, np.full((N_Q, N_KV), -1e9)).dead.any()
    assert oracle.attention(q, k, v, np.full((N_Q, N_KV), -np.inf)).dead.all()
    assert oracle.attention(q[:, :0], k, v).out.shape == (H, 0, D_V)
    assert oracle.attention(q[:0], k[:0], v[:0]).out.shape == (0, N_Q, D_V)


@pytest.mark.parametrize("garbage", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("additive", [False, True])
def test_masked_garbage_is_never_seen(garbage: float, additive: bool) -> None:
    q, k, v, c = draw(5)
    allow = masks(5)["bool"][0]
    assert allow is not None
    allow[:, :, 4] = False
    allow[1, 0, 3] = False
    mask = np.where(allow, 0.0, -np.inf) if additive else allow
    clean = oracle.attention(q, k, v, mask)
    grads = oracle.gradients(q, k, v, c, mask, want_mask=True)
    dirty_k, dirty_v = k.copy(), v.copy()
    dirty_k[:, 4], dirty_v[:, 4] = garbage, garbage
    truth = oracle.attention(q, dirty_k, dirty_v, mask)
    r = weight_error(q, k, allow, np.zeros((H, N_Q, N_KV)))
    limit = 2 * r * np.abs(v).max()
    assert (np.abs(truth.out - clean.out) <= limit).all() and (truth.weights[..., 4] == 0).all()
    got = oracle.gradients(q, dirty_k, dirty_v, c, mask, want_mask=True)
    second = oracle.second_gradients(q, dirty_k, dirty_v, c, (q, dirty_k, dirty_v), mask)
    factor = 2 * ((1 + r) ** 2 * (1 + gamma(D_V + 2 * N_KV + H * N_Q + 12)) - 1)
    for name, bound in positive(clean.weights, q, k, v, c).items():
        if name != "mask":
            assert (np.abs(getattr(got, name) - getattr(grads, name)) <= factor * bound).all(), name
            assert np.isfinite(getattr(second, name)).all()
    assert (got.key[:, 4] == 0).all() and (got.value[:, 4] == 0).all()
    assert got.mask is None or (got.mask[..., 4] == 0).all()


def test_garbage_that_only_some_rows_attend_reaches_exactly_those() -> None:
    q, k, v, c = draw(6)
    for k_bad, v_bad in [(np.nan, 0.0), (0.0, np.nan), (np.inf, 0.0), (0.0, np.inf)]:
        dirty_k, dirty_v = k.copy(), v.copy()
        dirty_k[:, 2, 0] += k_bad
        dirty_v[:, 2, 1] += v_bad
        truth = oracle.attention(q, dirty_k, dirty_v, is_causal=True)
        assert np.isfinite(truth.out[:, :2]).all() and not np.isfinite(truth.out[:, 2]).all()
        # An infinite score is either +inf, and then float64 has inf - inf, or -inf, which weighs nothing.
        assert v_bad == 0.0 or (~np.isfinite(truth.out[:, 2]) == [False, True, False]).all()
        got = oracle.gradients(q, dirty_k, dirty_v, c, is_causal=True)
        assert np.isfinite(got.query[:, :2]).all() and np.isfinite(got.key[:, 3:]).all()
        assert (got.value[:, 3:] == 0).all()
    faint = k.copy()
    faint[:, 0] = -1e5 * np.sign(q[0, 0])  # its weight underflows, and zero times infinity is NaN
    infinite = v.copy()
    infinite[:, 0] = np.inf
    assert np.isnan(oracle.attention(q[:1, :1], faint, infinite).out).all()
    assert np.isnan(oracle.attention(q[:1, :1], faint, infinite, np.arange(N_KV) < 4).out).all()
    infinite = v.copy()
    infinite[:, 0] = np.inf
    assert (oracle.attention(q, k, infinite).out == np.inf).all()
    infinite[:, 1] = -np.inf
    assert np.isnan(oracle.attention(q, k, infinite).out).all()


@pytest.mark.parametrize("cut", range(N_KV + 1))
def test_merge_of_two_parts_is_the_whole(cut: int) -> None:
    q, k, v, _ = draw(9)
    whole = oracle.attention(q, k, v, is_causal=True)
    causal = oracle.causal_mask(N_Q, N_KV)
    parts = [oracle.attention(q, k[:, s], v[:, s], causal[:, s]) for s in (slice(0, cut), slice(cut, None))]
    out, lse = oracle.merge([p.out for p in parts], [p.lse for p in parts])
    r = 4 * weight_error(q, k, np.broadcast_to(causal, (H, N_Q, N_KV)), np.zeros((H, N_Q, N_KV)))
    # Three softmaxes and the merge's own, each off by r at most.
    assert (np.abs(out - whole.out) <= r * (1 + r) * np.abs(v).max()).all()
    assert (np.abs(lse - whole.lse) <= r + 8 * U * np.abs(whole.lse)).all()
    nothing = oracle.merge([np.full((2, 3), np.nan)] * 2, [np.full(2, -np.inf)] * 2)
    assert (nothing[0] == 0).all() and (nothing[1] == -np.inf).all()


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        ([(2, 3, 2), (1, 5, 3), (1, 5, 3)], "head sizes of query and key differ"),
        ([(2, 3, 2), (1, 5, 2), (1, 4, 3)], "lengths of key and value differ"),
        ([(2, 3, 2), (1, 5, 2), (2, 5, 3)], "heads of key and value differ"),
        ([(3, 3, 2), (2, 5, 2), (2, 5, 3)], "not a multiple of key heads"),
    ],
)
def test_contradictions_raise(shapes: list[tuple[int, ...]], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        oracle.attention(*(np.zeros(s) for s in shapes))


@pytest.mark.parametrize("name", ["query", "key", "value", "mask"])
def test_inputs_of_four_bytes_are_widened(name: str) -> None:
    """float32 numbers are float64 numbers: a truth of theirs has no rounding of four bytes in it."""
    rng = np.random.default_rng(3)
    drawn = {n: rng.standard_normal((1, 2, 5, 3)).astype(np.float32) for n in ("query", "key", "value")}
    drawn["mask"] = rng.standard_normal((5, 5)).astype(np.float32)
    wide = {n: x.astype(np.float64) for n, x in drawn.items()}
    found, true = oracle.attention(**{**wide, name: drawn[name]}), oracle.attention(**wide)  # type: ignore[arg-type]
    assert found.out.dtype == found.lse.dtype == np.float64
    assert np.array_equal(found.out, true.out) and np.array_equal(found.lse, true.lse)
    all_narrow = oracle.attention(**drawn)  # type: ignore[arg-type]
    assert np.array_equal(all_narrow.out, true.out) and np.array_equal(all_narrow.lse, true.lse)


def test_parts_of_four_bytes_are_merged_in_eight() -> None:
    outs, lses = np.float32([[[0.1]], [[0.3]]]), np.float32([[0.7], [0.2]])
    out, lse = oracle.merge(outs, lses)
    true, log = oracle.merge(outs.astype(np.float64), lses.astype(np.float64))
    assert out.dtype == np.float64 and np.array_equal(out, true) and np.array_equal(lse, log)


@pytest.mark.parametrize("d", [1, 2, 4])
def test_the_scale_is_one_over_the_root_of_the_head_size(d: int) -> None:
    """Scores d / sqrt(d) and 0: the first weight is 1 / (1 + e^-sqrt(d)), also where one feature is all there is."""
    weights = oracle.attention(np.ones((1, 1, d)), np.array([[[1.0] * d, [0.0] * d]]), np.ones((1, 2, 1))).weights
    assert weights[0, 0, 0] == pytest.approx(1 / (1 + math.exp(-math.sqrt(d))), rel=1e-15)


def test_merging_keeps_rows_apart() -> None:
    """A row's largest logarithm is its own: against another row's its parts would vanish."""
    outs = np.array([[[1.0], [3.0]], [[2.0], [5.0]]])
    lses = np.array([[0.0, 2000.0], [0.0, 2000.0]])
    out, lse = oracle.merge(outs, lses)
    assert out.ravel().tolist() == [1.5, 4.0]
    assert lse.tolist() == [math.log(2), 2000 + math.log(2)]


def test_refusals_name_the_sizes() -> None:
    with pytest.raises(ValueError, match="head sizes of query and key differ: 3 and 4"):
        oracle.attention(np.ones((1, 7, 3)), np.ones((1, 8, 4)), np.ones((1, 8, 2)))
    with pytest.raises(ValueError, match="lengths of key and value differ: 8 and 9"):
        oracle.attention(np.ones((1, 7, 3)), np.ones((1, 8, 3)), np.ones((1, 9, 2)))
