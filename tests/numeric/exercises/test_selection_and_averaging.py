"""Selection and averaging on the worked example: the queries, the exact errors and the printed figures.

The error is the largest absolute coordinate of output minus target; queries are stated with their norms.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

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
    largest_error,
    rounding_bound,
    tensor,
)

KEYS, VALUES = decimals(KEY_TEXT), decimals(VALUE_TEXT)
KEY, VALUE = tensor(KEY_TEXT), tensor(VALUE_TEXT)
ALLOWED = Decimal("0.05")  # the exercise's own bound on the error


def combine(coefficients: tuple[str, ...], rows: Matrix = KEYS) -> Vector:
    """Return sum_i coefficients_i rows_i exactly."""
    factors = [Decimal(c) for c in coefficients]
    return [decimal_dot(factors, column) for column in zip(*rows, strict=True)]


# name: query as a combination of the keys, target as one of the values, the query's norm and the error to
# the digits shown (they hold to half a unit of the last digit; the truth is computed, these are what a
# reader checks).
FIGURES = {
    "select v_0, q = 10 k_0": (("10", "0", "0", "0"), ("1", "0", "0", "0"), "10.017", "0.000361"),
    "select v_0, q = 5 k_0": (("5", "0", "0", "0"), ("1", "0", "0", "0"), "5.008", "0.0144"),
    "average all, q = mean of the keys": (("0.25",) * 4, ("0.25",) * 4, "0.401", "0.0201"),
    "average all, q = 0": (("0",) * 4, ("0.25",) * 4, "0", "0"),
    "average two, q = 10 (k_0 + k_1)": (("10", "10", "0", "0"), ("0.5", "0.5", "0", "0"), "15.983", "0.0058"),
    "average two, q = 10 mean(k_0, k_1)": (("5", "5", "0", "0"), ("0.5", "0.5", "0", "0"), "7.992", "0.0029"),
}


@pytest.mark.parametrize("name", FIGURES)
def test_error_and_norm_of_the_query(name: str) -> None:
    query_of, target_of, norm_text, error_text = FIGURES[name]
    query, target = combine(query_of), combine(target_of, VALUES)
    truth, _ = decimal_attention(query, KEYS, VALUES)
    error = largest_error(truth, target)
    for exact, text in ((decimal_dot(query, query).sqrt(), norm_text), (error, error_text)):
        digits = Decimal(text).as_tuple().exponent
        assert abs(exact - Decimal(text)) <= Decimal((0, (5,), int(digits) - 1))
    assert error < ALLOWED
    query_row = tensor([query])
    output, _ = attend(query_row, KEY, VALUE)
    # Printed decimals are rounded once on their way to float64: relative u in q, k and v, as three more
    # terms.
    bound = 2 * rounding_bound(query_row, KEY, VALUE)
    assert float((output[0] - tensor([truth])[0]).abs().max()) <= bound


def test_the_quoted_error_belongs_to_the_mean_and_not_to_the_printed_query() -> None:
    """The printed query 10 (k_0 + k_1) has error .0058; the quoted .0029 is that of ten times the mean."""
    target = combine(("0.5", "0.5", "0", "0"), VALUES)
    printed = largest_error(decimal_attention(combine(("10", "10", "0", "0")), KEYS, VALUES)[0], target)
    mean = largest_error(decimal_attention(combine(("5", "5", "0", "0")), KEYS, VALUES)[0], target)
    assert round(printed, 4) == Decimal("0.0058") and round(mean, 4) == Decimal("0.0029")
    # Under the Euclidean norm neither figure would come out: the largest coordinate is what was reported.
    for query, other in ((("10", "10", "0", "0"), "0.0075"), (("5", "5", "0", "0"), "0.0038")):
        output, _ = decimal_attention(combine(query), KEYS, VALUES)
        difference = [a - b for a, b in zip(output, target, strict=True)]
        assert round(decimal_dot(difference, difference).sqrt(), 4) == Decimal(other)


def test_the_error_of_averaging_two_is_the_scores_difference() -> None:
    """k_0 and k_1 have different lengths, so S (k_0 + k_1) never averages them: S -> infinity selects v_1."""
    squared = [decimal_dot(row, row) for row in KEYS[:2]]
    assert squared == [Decimal("1.0034"), Decimal("1.0077")]
    errors = []
    for scale in (1, 5, 10, 100, 1000):
        query = combine((str(scale), str(scale), "0", "0"))
        output, weights = decimal_attention(query, KEYS, VALUES)
        # s_1 - s_0 = S (|k_1|^2 - |k_0|^2) = 0.0043 S, which is the log of the ratio of the weights.
        assert abs((weights[1] / weights[0]).ln() - scale * Decimal("0.0043")) < Decimal("1e-20")
        errors.append(largest_error(output, combine(("0.5", "0.5", "0", "0"), VALUES)))
    # Too small a scale leaves weight on the others, too large a one leaves one value: the error has a
    # minimum.
    assert errors[0] > errors[1] < errors[2] < errors[3] < errors[4] and errors[4] > ALLOWED


@pytest.mark.parametrize("scale", [5, 10, 20])
def test_identity_mapping_within_the_gap_bound(scale: int) -> None:
    output, _ = attend(scale * KEY, KEY, VALUE)
    gram = [[decimal_dot(a, b) for b in KEYS] for a in KEYS]
    gap = min(gram[i][i] - gram[i][j] for i in range(4) for j in range(4) if i != j)
    diameter = max(abs(a - b) for r in VALUES for s in VALUES for a, b in zip(r, s, strict=True))
    # Copying: at most (n - 1) e^{-gap} of the weight lies elsewhere, and no value is farther than the
    # diameter.
    bound = 3 * math.exp(-scale * float(gap)) * float(diameter)
    error = float((output - VALUE).abs().max())
    assert 0 < error <= bound + rounding_bound(scale * KEY, KEY, VALUE)
    truth = max(
        largest_error(decimal_attention([scale * x for x in row], KEYS, VALUES)[0], VALUES[i])
        for i, row in enumerate(KEYS)
    )
    assert abs(error - float(truth)) <= 2 * rounding_bound(scale * KEY, KEY, VALUE) and truth < ALLOWED


def test_a_million_selects_and_maps_identically_without_any_error() -> None:
    # The least gap is 0.7316 (k_0 against k_1), so the other weights are e^{-730000}: zero in float64,
    # whose least positive number is e^{-744.4}. The output is then 1 * v_i + 0, with no rounding anywhere:
    # equality.
    assert torch.equal(attend(1e6 * KEY, KEY, VALUE)[0], VALUE)
    assert torch.equal(attend(1e6 * KEY[:1], KEY, VALUE)[0], VALUE[:1])


def test_no_query_but_zero_averages_all_four_exactly() -> None:
    # Equal scores K q = c 1 are a linear system for (q, c); its determinant is not zero, so only q = 0
    # solves it.
    rows = [[*(Fraction(x) for x in row), Fraction(-1)] for row in KEY_TEXT]
    determinant = Fraction(1)
    for i in range(4):  # elimination without a zero pivot, exact
        determinant *= rows[i][i]
        for j in range(i + 1, 4):
            factor = rows[j][i] / rows[i][i]
            rows[j] = [b - factor * a for a, b in zip(rows[i], rows[j], strict=True)]
    assert determinant != 0
    _, weights = attend(torch.zeros(1, 3, dtype=torch.float64), KEY, VALUE)
    assert weights[0].tolist() == [0.25] * 4  # e^0 = 1 and 1/4 are exact
    mean_query = combine(("0.25",) * 4)
    assert max(abs(w - Decimal("0.25")) for w in decimal_attention(mean_query, KEYS, VALUES)[1]) > Decimal("0.03")


def test_weights_of_minus_20_minus_12_20_25() -> None:
    """[.01, .02, .48, .49] was given as the softmax of [-20, -12, 20, 25]; it is about [0, 0, .007, .993]."""
    scores = torch.tensor([[-20.0], [-12.0], [20.0], [25.0]], dtype=torch.float64)
    one = torch.ones(1, 1, dtype=torch.float64)
    _, weights = attend(one, scores, scores)
    _, truth = decimal_attention([Decimal(1)], [[Decimal(s)] for s in (-20, -12, 20, 25)], [[Decimal(0)]] * 4)
    assert [round(w, 3) for w in truth] == [Decimal(t) for t in ("0", "0", "0.007", "0.993")]
    # Weights are the output for the values of the identity matrix, so the same rounding bound covers them.
    bound = rounding_bound(one, scores, torch.eye(4, dtype=torch.float64))
    assert all(abs(float(w) - float(t)) <= bound for w, t in zip(weights[0], truth, strict=True))
    # What was masked after the softmax keeps e^{-37} of its weight, not 3 %: and renormalised it is e^8 to 1,
    # where the text has .4 to .6.
    assert abs((truth[1] / truth[0]).ln() - 8) < Decimal("1e-20") and truth[0] + truth[1] < Decimal("1e-15")
