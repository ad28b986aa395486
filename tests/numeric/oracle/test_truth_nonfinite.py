"""masked_matmul and merge, element by element.

The oracle's arithmetic around infinities and NaN, and its merge, against plain loops over Python's own floats.
Found wanting by mutation testing: a sign or a count in them could change and no other test noticed.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from attention_core import oracle
from attention_core.oracle.truth import masked_matmul

Array = npt.NDArray[np.float64]
SPECIAL = st.sampled_from([0.0, 1.0, -1.0, 2.0, math.inf, -math.inf, math.nan])


def by_loop(coefficients: Array, rows: Array, allow: npt.NDArray[np.bool_]) -> Array:
    """sum_j c_ij r_jc over allowed j, one product after the other."""
    out = np.zeros((len(coefficients), rows.shape[1]))
    for i, c in np.ndindex(out.shape):
        total = 0.0
        for j in range(len(rows)):
            if allow[i, j]:
                total += float(coefficients[i, j]) * float(rows[j, c])
        out[i, c] = total
    return out


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_sums_of_what_is_not_finite_are_those_of_a_loop(data: st.DataObject) -> None:
    n, m, c = (data.draw(st.integers(1, 3)) for _ in range(3))
    coefficients = data.draw(
        hnp.arrays(np.float64, (n, m), elements=st.sampled_from([0.0, 1.0, -1.0, 2.0, 0.5, -0.25]))
    )
    rows = data.draw(hnp.arrays(np.float64, (m, c), elements=SPECIAL))
    allow = data.draw(hnp.arrays(np.bool_, (n, m)))
    forbidden_are_zero = np.where(allow, coefficients, 0.0)  # as weights are where a row may not attend
    np.testing.assert_array_equal(masked_matmul(forbidden_are_zero, rows, allow), by_loop(coefficients, rows, allow))


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_merge_is_the_weighted_mean_of_its_parts(parts: int) -> None:
    rng = np.random.default_rng(parts)
    outs, lses = rng.standard_normal((parts, 2, 4, 3)), 3 * rng.standard_normal((parts, 2, 4))
    lses[0, :, 1] = -np.inf  # one part has nothing to say
    lses[:, 0, 2] = -np.inf  # no part has
    lses[:, 1, 3] -= 700.0  # sums of exponentials below the range of float64
    outs[0, :, 1] = np.nan
    out, lse = oracle.merge(outs, lses)
    for b, i in np.ndindex(2, 4):
        logs = [float(x) for x in lses[:, b, i]]
        top = max(logs)
        if top == -math.inf:
            assert lse[b, i] == -np.inf
            assert out[b, i].tolist() == [0.0] * 3
            continue
        total = sum(math.exp(x - top) for x in logs)
        # one exponential, one logarithm and their sum, each to an ulp or two
        assert lse[b, i] == pytest.approx(top + math.log(total), rel=1e-14)
        for c in range(3):
            terms = [math.exp(x - top) * float(outs[a, b, i, c]) for a, x in enumerate(logs) if x > -math.inf]
            size = sum(abs(t) for t in terms)
            assert abs(out[b, i, c] - sum(terms) / total) <= 16 * 2.0**-53 * size / total


def test_merge_takes_lists_and_whole_numbers() -> None:
    out, lse = oracle.merge([[[1]], [[3]]], [[0], [0]])
    assert out.tolist() == [[2.0]]
    assert lse.tolist() == [math.log(2)]


@pytest.mark.parametrize("heads", [1, 2, 4])
@pytest.mark.parametrize("n_kv", [1, 2, 5])
def test_uniform_dead_rows_are_the_mean_of_their_own_head(n_kv: int, heads: int) -> None:
    rng = np.random.default_rng(0)
    query, key = rng.standard_normal((2, 4, 3, 2)), rng.standard_normal((2, heads, n_kv, 2))
    value = rng.standard_normal((2, heads, n_kv, 3))
    mask = np.zeros((3, n_kv), dtype=bool)
    out = oracle.attention(query, key, value, mask, dead_rows="uniform").out
    for b, h, i, c in np.ndindex(out.shape):
        want = sum(float(x) for x in value[b, h // (4 // heads), :, c]) / n_kv
        assert abs(out[b, h, i, c] - want) <= n_kv * 2.0**-52 * float(np.abs(value).max())


@pytest.mark.parametrize("garbage", [math.nan, math.inf])
def test_a_row_spoiled_by_what_it_attends_leaves_the_keys_hidden_from_it_alone(garbage: float) -> None:
    """0 * NaN stays out of the sums over queries: keys that only other rows attend get the gradients of those."""
    rng = np.random.default_rng(0)
    q, k, v, cot = (rng.standard_normal((1, 1, *shape)) for shape in ((2, 3), (4, 3), (4, 2), (2, 2)))
    allow = np.array([[True, True, False, False], [False, False, True, True]])
    clean = oracle.gradients(q, k, v, cot, allow)
    v[0, 0, 0] = garbage
    spoiled = oracle.gradients(q, k, v, cot, allow)
    for name in ("key", "value"):
        np.testing.assert_array_equal(getattr(spoiled, name)[0, 0, 2:], getattr(clean, name)[0, 0, 2:])
    assert not np.isfinite(spoiled.query[0, 0, 0]).any() and np.isfinite(spoiled.query[0, 0, 1]).all()
