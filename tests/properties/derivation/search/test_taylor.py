"""Sums over pieces, enclosed."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb, fmpq

from attention_core.derivation.graph.numbers import precision
from attention_core.derivation.search.taylor import expand, power_sum, sum_of_piece
from attention_core.derivation.terms.terms import SCALAR, Term, integer


@pytest.mark.parametrize("exponent", [0, 2, 4, 6])
@pytest.mark.parametrize("count", [1, 2, 5, 8])
def test_power_sums_are_those_of_the_numbers(exponent: int, count: int) -> None:
    middle = Fraction(count - 1, 2)
    total = sum((Fraction(k) - middle) ** exponent for k in range(count))
    assert power_sum(count, exponent) == fmpq(total.numerator, total.denominator)


@pytest.mark.parametrize(("low", "high"), [(10, 14), (100, 131), (1000, 1400)])
def test_a_piece_encloses_its_sum(low: int, high: int) -> None:
    k = Term("int", (), SCALAR, "k")
    body = Term("div", (integer(1), Term("mul", (k, Term("log", (k,), SCALAR)), SCALAR)), SCALAR)

    def free(term: Term) -> set[str]:
        return {t.data for t in term.walk() if t.op == "int"}

    with precision(128):
        found = sum_of_piece(expand(body, "k", free), low, high, lambda _: fmpq(1))
        total = sum((1 / (arb(n) * arb(n).log()) for n in range(low, high + 1)), arb(0))
        assert found.contains(total)
        assert high > 1.32 * low or found.rad() < total * arb(
            1e-5
        )  # a piece that is no longer than a third of its start
