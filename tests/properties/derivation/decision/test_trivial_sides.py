"""Steps whose sides differ by an order alone may be equations to be solved; others are claims."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document


@pytest.mark.parametrize(
    ("wrong", "verdict"),
    [
        (r"\frac{d}{dx} \sum_{i=1}^n (x - a_i)^3 = 2 \sum_{i=1}^n \frac{d}{dx} (x - a_i)^3", "REFUTED"),
        (r"\sum_{i=1}^n \sum_{j=1}^m a_{ij} = \sum_{j=1}^m \sum_{i=1}^n a_{ij} + 1", "REFUTED"),
        (r"\sum_{i=1}^n a_i x_i = 2 \sum_{i=1}^n x_i a_i", "UNDECIDED"),  # an equation: the sum is 0
        (r"\sum_{i=1}^n a_i x_i = 2 \sum_{j=1}^n x_j a_j", "UNDECIDED"),
        (r"(a + b) c = -c (b + a)", "UNDECIDED"),
        (r"2 x x = x^2", "UNDECIDED"),
        (r"a + b = a - b", "UNDECIDED"),  # nobody derives a + b from a + b
        (r"2 n + n \log n = n + n \log n", "UNDECIDED"),
        (r"(a - b) c = a c + b c", "REFUTED"),
        (r"x^2 = x", "UNDECIDED"),  # x^1 in place of x^2 would be the change
        (r"-t + y = -(y - t)", "UNDECIDED"),
        (r"x y - t = -(y x - t)", "UNDECIDED"),
        (r"\max_W \operatorname{tr}(W^\top S W) = \max_W \operatorname{tr}(W^\top C W)", "UNDECIDED"),  # two symbols
        (r"\frac{1}{3} (1) = 1", "REFUTED"),  # there is nothing to solve it for
        (r"c \cdot 1 = (c) + 1", "REFUTED"),  # false whatever c is
        (r"c \cdot 1 = (c) + b", "UNDECIDED"),
    ],
)
def test_sides_that_differ_by_an_order_alone_are_an_equation_and_others_a_claim(wrong: str, verdict: str) -> None:
    assert check_document(f"$$ {wrong} $$\n", infer=True).steps[-1].verdict == verdict
