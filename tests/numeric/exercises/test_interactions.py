"""Changing one key, k_2, in the worked example: what it can do to an output that did not look at it.

The third key's replacement for averaging three and for selecting v_2, and dc/dk_2 = alpha_2 (v_2 - c) q^T.
"""

from __future__ import annotations

from decimal import Decimal, localcontext

import pytest
import torch

from tests.numeric.exercise_truth import (
    KEY_TEXT,
    VALUE_TEXT,
    Matrix,
    Vector,
    attend,
    decimal_attention,
    decimal_dot,
    decimals,
    gamma,
    largest_error,
    rounding_bound,
    tensor,
)

KEYS, VALUES = decimals(KEY_TEXT), decimals(VALUE_TEXT)
SUM: Vector = [a + b for a, b in zip(KEYS[0], KEYS[1], strict=True)]
QUERIES = {"10 (k_0 + k_1)": [10 * x for x in SUM], "10 mean(k_0, k_1)": [5 * x for x in SUM]}
ALLOWED = Decimal("0.05")


def with_third_key(key: Vector) -> Matrix:
    """Return the keys with k_2 replaced."""
    return [KEYS[0], KEYS[1], key, KEYS[3]]


def check_output(query: Vector, key: Matrix, truth: Vector) -> None:
    """Compare the implementation with the truth; doubled, for the rounding of the decimals to float64."""
    query_row, key_rows, value_rows = tensor([query]), tensor(key), tensor(VALUES)
    output, _ = attend(query_row, key_rows, value_rows)
    assert float((output - tensor([truth])).abs().max()) <= 2 * rounding_bound(query_row, key_rows, value_rows)


@pytest.mark.parametrize(("name", "figure"), [("10 (k_0 + k_1)", "0.0039"), ("10 mean(k_0, k_1)", "0.0019")])
def test_third_key_at_the_mean_of_two_averages_three(name: str, figure: str) -> None:
    query, key = QUERIES[name], with_third_key([x / 2 for x in SUM])
    truth, _ = decimal_attention(query, key, VALUES)
    error = largest_error(truth, [sum(column, Decimal(0)) / 3 for column in zip(*VALUES[:3], strict=True)])
    assert round(error, 4) == Decimal(figure) and error < ALLOWED
    check_output(query, key, truth)
    # Its score is the mean of the other two scores by linearity, whatever q is.
    scores = [decimal_dot(query, row) for row in key]
    assert scores[2] == (scores[0] + scores[1]) / 2


@pytest.mark.parametrize(
    ("name", "figure", "holds"), [("10 (k_0 + k_1)", "0.031", True), ("10 mean(k_0, k_1)", "0.118", False)]
)
def test_unit_norm_third_key_selects_only_under_the_longer_query(name: str, figure: str, holds: bool) -> None:
    """q = 10 (k_0 + k_1), |q| = 15.98, has error .031; ten times the mean, |q| = 7.99, has .118."""
    query = QUERIES[name]
    norm = decimal_dot(query, query).sqrt()
    key = with_third_key([x / norm for x in query])
    assert abs(decimal_dot(key[2], key[2]) - 1) < Decimal("1e-25")
    truth, _ = decimal_attention(query, key, VALUES)
    error = largest_error(truth, VALUES[2])
    assert round(error, 3) == Decimal(figure) and (error < ALLOWED) is holds
    check_output(query, key, truth)
    # No other unit key does better: k -> q.k is largest at q / |q|, and alpha_2 grows with its score. The
    # error is bounded by the gap |q| - max(q.k_0, q.k_1, q.k_3), which shrinks with |q|: hence "query and
    # norm stated".
    gap = norm - max(decimal_dot(query, KEYS[i]) for i in (0, 1, 3))
    diameter = max(abs(a - b) for row in VALUES for a, b in zip(row, VALUES[2], strict=True))
    assert error <= 3 * (-gap).exp() * diameter


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("place", ["given", "mean", "unit"])
def test_sensitivity_to_the_third_key(name: str, place: str) -> None:
    """dc/dk_2 = alpha_2 (v_2 - c) q^T, against autograd and against differences in 80 digits."""
    query = QUERIES[name]
    norm = decimal_dot(query, query).sqrt()
    third = {"given": KEYS[2], "mean": [x / 2 for x in SUM], "unit": [x / norm for x in query]}[place]
    key = with_third_key(third)
    output, weights = decimal_attention(query, key, VALUES)
    # Central differences with h = 1e-20: the remainder is h^2 |q|^3 |v| times a constant below 10, under
    # 1e-34.
    step = Decimal("1e-20")
    with localcontext() as context:
        context.prec = 80
        formula = [[weights[2] * (v - c) * x for x in query] for v, c in zip(VALUES[2], output, strict=True)]
        for j in range(3):
            ends = []
            for sign in (1, -1):
                moved = [x + sign * step * (i == j) for i, x in enumerate(third)]
                ends.append(decimal_attention(query, with_third_key(moved), VALUES)[0])
            for i in range(3):
                assert abs((ends[0][i] - ends[1][i]) / (2 * step) - formula[i][j]) < Decimal("1e-34")

    query_row, value_rows = tensor([query]), tensor(VALUES)
    rest = tensor(key)
    leaf = rest.clone().requires_grad_()
    result, _ = attend(query_row, leaf, value_rows)
    rows = [torch.autograd.grad(entry, leaf, retain_graph=True)[0][2] for entry in result[0]]
    jacobian = torch.stack(rows)
    # The backward pass forms alpha_2 (g.v_2 - g.c) q: alpha_2 carries the relative error of a weight, the
    # difference is off by that of c, and a handful of roundings remain (sums over 4 keys and 3
    # coordinates).
    unit_bound = 2 * rounding_bound(query_row, rest, torch.ones(1, 1))
    allowed = float(weights[2]) * float(norm) * (3 * unit_bound + gamma(32)) * 2 * float(value_rows.abs().max())
    assert float((jacobian - tensor(formula)).abs().max()) <= allowed


def test_a_key_that_gets_no_weight_has_no_pull_yet_a_finite_move_takes_the_output() -> None:
    """At the given k_2 the derivative is below 1e-6; k_2 = q / |q| moves c by almost |v_2 - c|."""
    query = QUERIES["10 (k_0 + k_1)"]
    norm = decimal_dot(query, query).sqrt()
    before, weights = decimal_attention(query, KEYS, VALUES)
    largest = max(abs(weights[2] * (v - c) * x) for v, c in zip(VALUES[2], before, strict=True) for x in query)
    # alpha_2 <= e^{s_2 - s_1}, s_2 = -5.941 and s_1 = 12.795; |v - c| <= 2 and |q_i| <= 16.
    assert 0 < largest <= 32 * (Decimal("-5.941") - Decimal("12.795")).exp() < Decimal("1e-6")
    after, _ = decimal_attention(query, with_third_key([x / norm for x in query]), VALUES)
    assert largest_error(after, before) > Decimal("0.9") * largest_error(VALUES[2], before)
