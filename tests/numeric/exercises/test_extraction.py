"""Extracting v_a from v_a + v_b and from their mean, when the two lie in orthogonal subspaces.

M = A A^T takes v_a out of the sum, M = 2 A A^T out of the mean; neither serves for the other.
"""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from tests.numeric.exercise_truth import attend, orthonormal_rows, rounding_bound

SIZES = [(16, 3, 5), (16, 1, 15), (16, 7, 1), (64, 11, 13)]  # d, m, p: distinct, so that swapped axes fail


def subspaces(d: int, m: int, p: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return A (d, m), B (d, p) with orthonormal columns and A^T B = 0, and v_a in A, v_b in B.

    Columns have entries +-1/sqrt(d), a power of two, and coefficients are small integers: all that follows
    is exact.
    """
    rows = orthonormal_rows(d)
    a, b = rows[:m].T, rows[m : m + p].T
    generator = torch.Generator().manual_seed(31)
    x, y = (torch.randint(1, 8, (k,), generator=generator).to(torch.float64) for k in (m, p))
    return a, b, a @ x, b @ y


@pytest.mark.parametrize(("d", "m", "p"), SIZES)
def test_extraction_from_the_sum_and_from_the_mean(d: int, m: int, p: int) -> None:
    a, b, v_a, v_b = subspaces(d, m, p)
    projector = a @ a.T
    assert torch.equal(projector @ (v_a + v_b), v_a)
    assert torch.equal(2 * projector @ ((v_a + v_b) / 2), v_a)
    # And v_b by what is left, or by its own projector.
    assert torch.equal((v_a + v_b) - projector @ (v_a + v_b), v_b)
    assert torch.equal(b @ b.T @ (v_a + v_b), v_b)


@pytest.mark.parametrize(("d", "m", "p"), SIZES)
def test_each_matrix_is_off_by_two_on_the_other_input(d: int, m: int, p: int) -> None:
    a, _, v_a, v_b = subspaces(d, m, p)
    projector = a @ a.T
    assert torch.equal(projector @ ((v_a + v_b) / 2), v_a / 2) and v_a.any()
    assert torch.equal(2 * projector @ (v_a + v_b), 2 * v_a)


@pytest.mark.parametrize(("d", "m", "p"), SIZES)
def test_the_matrix_is_a_projector_of_rank_m(d: int, m: int, p: int) -> None:
    a, b, _, _ = subspaces(d, m, p)
    projector = a @ a.T
    assert torch.equal(projector @ projector, projector) and torch.equal(projector.T, projector)
    assert float(projector.trace()) == m
    assert not (projector @ b).any()


def test_each_hypothesis_is_needed() -> None:
    a, b, v_a, v_b = subspaces(16, 3, 5)
    # Orthogonality of the subspaces: tilt B by a column of A, and what comes out is off by A A^T of the tilt.
    tilted = b.clone()
    tilted[:, 0] += a[:, 0]
    other = tilted @ torch.ones(5, dtype=torch.float64)
    assert torch.equal(a @ a.T @ (v_a + other) - v_a, a[:, 0])
    # Orthogonality inside A: a repeated direction is counted twice.
    skewed = a.clone()
    skewed[:, 1] = a[:, 0]
    assert torch.equal(skewed @ skewed.T @ (a[:, 0] + v_b), 2 * a[:, 0])
    # Unit norm: columns of length 2 multiply by 4.
    assert torch.equal((2 * a) @ (2 * a).T @ (v_a + v_b), 4 * v_a)


@pytest.mark.parametrize("S", [4.0, 16.0, 64.0])
def test_attention_averages_and_the_matrix_takes_it_apart(S: float) -> None:
    """Two values through one average: the error of v_a is at most twice the error of the average."""
    a, _, v_a, v_b = subspaces(16, 3, 5)
    key = orthonormal_rows(16)[:4]
    noise = 8 * orthonormal_rows(16)[8:10]
    value = torch.stack([noise[0], v_a, v_b, noise[1]])
    query = S * (key[1:2] + key[2:3])
    output, _ = attend(query, key, value)
    error = float((2 * (a @ a.T) @ output[0] - v_a).norm())
    # The error of the average is 2 e^{-S} / (2 + 2 e^{-S}) of the farthest difference; 2 A A^T has norm 2.
    mean = (v_a + v_b) / 2
    farthest = max(float((row - mean).norm()) for row in noise)
    # Rounding: that of the output in norm, sqrt(d) times an entry's, doubled by the matrix and once more
    # for it.
    slack = 4 * math.sqrt(16) * rounding_bound(query, key, value)
    bound = 2 * math.exp(-S) / (1 + math.exp(-S)) * farthest
    assert error <= bound + slack
    # What the average alone gives differs from v_a by half their difference: the matrix is what helps.
    assert float((output[0] - v_a).norm()) > 1 > bound + slack or S < 16
