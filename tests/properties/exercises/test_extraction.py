"""The claim "one of two averaged values can be extracted again", in exact arithmetic on exact orthonormal
frames.

A A^T takes v_a out of v_a + v_b and 2 A A^T out of their mean if and only if A has orthonormal columns and
A^T v_b = 0.
"""

from __future__ import annotations

import math

import torch
from hypothesis import event, example, given
from hypothesis import strategies as st
from torch import Tensor

from tests.numeric.exercise_truth import attend, orthonormal_rows, rounding_bound

D = 16  # a power of four: the frame's entries are +-1/4, and integer combinations of its rows are exact
COEFFICIENTS = st.lists(st.integers(-9, 9), min_size=D, max_size=D).map(lambda c: torch.tensor(c, dtype=torch.float64))


@st.composite
def frames(draw: st.DrawFn) -> Tensor:
    """Draw an exactly orthogonal matrix (columns are the directions)."""
    order, columns = draw(st.permutations(range(D))), draw(st.permutations(range(D)))
    signs = torch.tensor(draw(st.lists(st.sampled_from([1.0, -1.0]), min_size=D, max_size=D)))
    return orthonormal_rows(D)[order][:, columns] * signs


@st.composite
def splits(draw: st.DrawFn) -> tuple[int, int]:
    """Draw the dimensions m, p >= 1 of the two subspaces, m + p <= D."""
    m = draw(st.integers(1, D - 1))
    return m, draw(st.integers(1, D - m))


@given(frames(), splits(), COEFFICIENTS)
def test_extraction_from_sum_and_mean_is_exact(frame: Tensor, split: tuple[int, int], x: Tensor) -> None:
    m, p = split
    a, b = frame[:, :m], frame[:, m : m + p]
    v_a, v_b = a @ x[:m], b @ x[m : m + p]
    projector = a @ a.T
    assert torch.equal(projector @ (v_a + v_b), v_a)
    assert torch.equal(2 * projector @ ((v_a + v_b) / 2), v_a)
    # Swapped, each is off by the factor 2: right only where there is nothing to extract.
    assert torch.equal(projector @ ((v_a + v_b) / 2), v_a) is not bool(v_a.any())
    assert torch.equal(2 * projector @ (v_a + v_b), v_a) is not bool(v_a.any())
    event("v_a is zero" if not v_a.any() else "v_a is not zero")


@given(frames(), splits(), COEFFICIENTS)
@example(orthonormal_rows(D), (2, 3), torch.zeros(D, dtype=torch.float64))
def test_what_leaks_from_a_subspace_that_is_not_orthogonal(frame: Tensor, split: tuple[int, int], x: Tensor) -> None:
    m, p = split
    a, b = frame[:, :m], frame[:, m : m + p]
    v_a, v_b = a @ x[:m], b @ x[m : m + p] + a @ x[:m].flip(0)  # v_b has a part in A
    leak = a @ x[:m].flip(0)
    # M (v_a + v_b) - v_a = A A^T v_b: zero exactly when A^T v_b = 0.
    found = a @ a.T @ (v_a + v_b)
    assert torch.equal(found - v_a, leak)
    assert torch.equal(found, v_a) is not bool(leak.any())


@given(frames(), st.integers(2, D - 1), COEFFICIENTS, st.sampled_from([-0.5, 0.25, 0.5]))
def test_a_basis_that_is_not_orthonormal_needs_the_inverse_of_its_gram_matrix(
    frame: Tensor, m: int, x: Tensor, tilt: float
) -> None:
    a = frame[:, :m].clone()
    a[:, 1] += tilt * a[:, 0]
    v_a, v_b = a @ x[:m], frame[:, m:] @ x[m:]
    # A A^T (v_a + v_b) = A (A^T A) x: the Gram matrix differs from I in the first two rows and columns only,
    # (A^T A - I) x = (t x_1, t x_0 + t^2 x_1, 0, ...), so it is wrong unless x_0 = x_1 = 0.
    error = tilt * (x[1] * a[:, 0] + (x[0] + tilt * x[1]) * a[:, 1])
    assert torch.equal(a @ a.T @ (v_a + v_b) - v_a, error)
    assert bool(error.any()) is bool(x[:2].any())
    # A (A^T A)^{-1} A^T is right for any basis: undo the tilt, whose inverse is exact, instead of solving.
    orthonormal = frame[:, :m]
    assert torch.equal(orthonormal @ orthonormal.T @ (v_a + v_b), v_a)


@given(frames(), splits(), COEFFICIENTS, st.integers(4, 64))
def test_extraction_from_what_attention_averages(frame: Tensor, split: tuple[int, int], x: Tensor, S: int) -> None:
    """Keys k_a, k_b, k_r orthonormal, q = S (k_a + k_b): 2 A A^T c is v_a within twice the error of c."""
    m, p = split
    v_a, v_b = frame[:, :m] @ x[:m], frame[:, m : m + p] @ x[m : m + p]
    key = orthonormal_rows(4)[:3]
    value = torch.stack([v_a, v_b, frame @ x.flip(0)])
    query = S * (key[:1] + key[1:2])
    output, _ = attend(query, key, value)
    mean = (v_a + v_b) / 2
    error = float((2 * frame[:, :m] @ (frame[:, :m].T @ output[0]) - v_a).norm())
    # c - m = e^{-S} / (2 + e^{-S}) (v_r - m), and 2 A A^T has norm 2. Rounding: that of c, an entry's times
    # sqrt(D), doubled by the matrix, and as much again for the product itself, whose sums have 16 terms: 4
    # more.
    bound = 2 * math.exp(-S) / (2 + math.exp(-S)) * float((value[2] - mean).norm())
    slack = (4 + 4) * math.sqrt(D) * rounding_bound(query, key, value)
    assert error <= bound + slack
