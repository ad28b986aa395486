"""Long numbers as text: exact unless the text says "about", and short where a short form is exact."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from attention_core.derivation.graph.compare import SHORT, apart, long_text

POWERS = st.tuples(st.integers(-(10**6), 10**6), st.sampled_from([2, 10]), st.integers(-900, 900))


def value_of(text: str) -> Fraction:
    """What a product of a whole number and a power stands for, by Python's own arithmetic."""
    sign, factors = (-1, text[1:].split(" * ")) if text.startswith("-") else (1, text.split(" * "))
    value = Fraction(sign)
    for factor in factors:
        base, _, exponent = factor.partition("^")
        value *= Fraction(int(base)) ** int(exponent or 1)
    return value


@given(POWERS)
def test_a_short_form_is_exact(numbers: tuple[int, int, int]) -> None:
    factor, base, exponent = numbers
    value = factor * Fraction(base) ** exponent
    text = long_text(fmpq(value.numerator, value.denominator))
    if "about" not in text and "/" not in text and " + " not in text and " - " not in text:
        assert value_of(text) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (fmpq(7), "7"), (fmpq(-3, 4), "-3/4"), (fmpq(3 * 10**400), "3 * 10^400"), (fmpq(1, 2**1400), "2^-1400"),
        (1 - fmpq(1, 2**100), "1 - 2^-100"), (1 + fmpq(1, 2**100), "1 + 2^-100"), (fmpq(-(2**90)), "-2^90"),
    ],
)  # fmt: skip
def test_numbers_as_people_write_them(value: fmpq, text: str) -> None:
    assert long_text(value) == text


def test_what_has_no_short_form_is_about() -> None:
    text = long_text(fmpq(3**1000, 7**500))
    assert text.startswith("about ")
    assert len(text) < 2 * SHORT + 20


def test_equal_numbers_that_a_strict_relation_refutes_are_called_the_same() -> None:
    """Digits of a ball around their difference would say that it is not known."""
    large = fmpq(10**60 + 1)
    left, right = apart(large, large)
    assert left in right and "the same number" in right
    left, right = apart(fmpq(10**800), fmpq(10**800 + 1))
    assert "the difference is -1" in right
