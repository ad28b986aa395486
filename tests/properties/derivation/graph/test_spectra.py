"""Ranks, pseudo-inverses and spectra of matrices of whole numbers, beside NumPy's and their own identities."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb, fmpq
from hypothesis import given
from hypothesis import strategies as st

from attention_core.derivation.graph.nodes import Undefined
from attention_core.derivation.graph.numbers import Imprecise
from attention_core.derivation.graph.spectra import eigenvalues, pseudo_inverse, rank, singular_values

shapes = st.tuples(st.integers(1, 4), st.integers(1, 4))
matrices = shapes.flatmap(
    lambda shape: st.lists(
        st.lists(st.integers(-3, 3), min_size=shape[1], max_size=shape[1]), min_size=shape[0], max_size=shape[0]
    )
)


def numbers(rows: list[list[int]]) -> list[fmpq]:
    return [fmpq(x) for row in rows for x in row]


def pseudo_inverse_of(values: list, shape: tuple[int, int]) -> np.ndarray:
    return np.array([[float(pseudo_inverse(values, shape, i, j)) for j in range(shape[0])] for i in range(shape[1])])


@given(matrices)
def test_ranks_pseudo_inverses_and_singular_values_are_numpys(rows: list[list[int]]) -> None:
    whole, shape, values = np.array(rows, dtype=float), (len(rows), len(rows[0])), numbers(rows)
    assert int(rank(values, shape)) == np.linalg.matrix_rank(whole)
    # Entries up to 3 and at most 4 x 4: a nonzero singular value is at least det / sigma^3, far above pinv's cut.
    np.testing.assert_allclose(pseudo_inverse_of(values, shape), np.linalg.pinv(whole, rcond=1e-10), atol=1e-9)
    found = [float(arb(v).mid()) for v in singular_values(values, shape)]
    np.testing.assert_allclose(found, np.linalg.svd(whole, compute_uv=False), atol=1e-6)
    assert found == sorted(found, reverse=True)


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.integers(-3, 3), min_size=n * n, max_size=n * n)))
def test_eigenvalues_of_a_symmetric_matrix_have_its_trace_and_determinant(entries: list[int]) -> None:
    n = round(len(entries) ** 0.5)
    square = np.array(entries).reshape(n, n)
    square = square + square.T
    values = numbers(square.tolist())
    exact = eigenvalues(values, n, True)
    truth = np.linalg.eigvalsh(square)[::-1]
    try:
        of_balls = eigenvalues([arb(v) for v in values], n, True)
    except Imprecise:
        assert min(abs(np.diff(truth))) < 1e-9  # two that balls cannot tell apart
        of_balls = exact
    for found in (exact, of_balls):
        np.testing.assert_allclose([float(arb(v).mid()) for v in found], truth, atol=1e-6)
    assert sum((arb(v) for v in exact), arb(0)).contains(int(np.trace(square)))


def test_what_is_not_certain_is_not_said() -> None:
    with pytest.raises(Undefined, match="not real"):
        eigenvalues(numbers([[0, -1], [1, 0]]), 2, False)
    with pytest.raises(Imprecise):  # balls: not known to be symmetric
        eigenvalues([arb(1)] * 4, 2, False)
    with pytest.raises(Imprecise):  # a ball about 0 may be of rank 0 or 1
        rank([arb(0, 1)], (1, 1))
    assert rank([fmpq(0)], (1, 1)) == 0
