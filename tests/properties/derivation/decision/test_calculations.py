"""How a calculation is read: bases, orders, divisions, minutes, thousands and percentages."""

from __future__ import annotations

from fractions import Fraction

import pytest

from attention_core.derivation.decision.calculations import Arithmetic, iterate_arithmetics, list_percentages
from attention_core.derivation.latex.parse import parse_expression


@pytest.mark.parametrize(
    ("formula", "arithmetic", "value"),
    [
        (r"2 + 3 \times 4", Arithmetic(), 14),
        (r"2 + 3 \times 4", Arithmetic(order="from left"), 20),
        (r"3 \times 4 + 2", Arithmetic(order="from right"), 18),
        (r"10 - 4 - 3", Arithmetic(order="from right"), 9),
        (r"-3 + 2", Arithmetic(order="from right"), -5),
        ("101 + 11", Arithmetic(2), 8),
        (r"7 / 2 \times 2", Arithmetic(whole="floor"), 6),
        (r"\frac{-7}{2}", Arithmetic(whole="floor"), -4),
        (r"\frac{-7}{2}", Arithmetic(whole="cut"), -3),
        (r"\frac{7}{2}", Arithmetic(whole="round"), 4),
        (r"\frac{0.7}{2}", Arithmetic(whole="cut"), Fraction(7, 20)),  # of whole numbers alone
        (r"12 / 2 \cdot 3", Arithmetic(slash="product"), 2),
        ("1 + 100 / 4 + 1 - 3", Arithmetic(slash="rest"), 51),
        ("1 - 5/6^2", Arithmetic(slash="power"), Fraction(11, 36)),
        ("9.45 + 1.30", Arithmetic(parts=60), Fraction(45, 4)),
        ("5.2 + 3.1", Arithmetic(parts=3), 9),
        (r"1.250 + 2", Arithmetic(thousands=frozenset({Fraction(5, 4)})), 1252),
        (r"80 + 20\% - 50\%", Arithmetic(percentages=frozenset({Fraction(1, 5), Fraction(1, 2)})), 48),
    ],
)
def test_the_value_is_that_of_the_arithmetic(formula: str, arithmetic: Arithmetic, value: Fraction) -> None:
    assert arithmetic.calculate(parse_expression(formula, 1)) == value


@pytest.mark.parametrize(
    ("formula", "arithmetic"),
    [
        ("19", Arithmetic(8)),
        ("1.75", Arithmetic(parts=60)),  # no hour has 75 minutes
        ("1.234", Arithmetic(parts=60)),
        (r"\frac{1}{0}", Arithmetic()),
        (r"\sqrt{2}", Arithmetic()),
        ("10^{10^{10}}", Arithmetic()),
        ("x", Arithmetic()),
    ],
)
def test_what_has_no_value_there_raises(formula: str, arithmetic: Arithmetic) -> None:
    with pytest.raises((ValueError, ArithmeticError)):
        arithmetic.calculate(parse_expression(formula, 1))


def test_points_and_percentages_are_read_otherwise_where_they_are_written() -> None:
    assert not any(one.parts or one.thousands or one.percentages for one in iterate_arithmetics("2 + 2"))
    assert any(one.parts for one in iterate_arithmetics("2.5 + 2"))
    assert [one.thousands for one in iterate_arithmetics("1.250 + 2") if one.thousands] == [{Fraction(5, 4)}]
    assert not any(one.thousands for one in iterate_arithmetics("1.25 + 2"))
    assert list_percentages(r"80 + 20\% - 2.5%") == {Fraction(1, 5), Fraction(1, 40)}
