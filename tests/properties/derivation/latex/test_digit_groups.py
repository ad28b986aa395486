"""Digits in groups are one number where thin spaces say so, and are refused where they may be two."""

from __future__ import annotations

import pytest

from attention_core.derivation.latex.lexer import tokenize
from attention_core.derivation.latex.syntax import Unreadable


@pytest.mark.parametrize(
    "text, values",
    [
        (r"1\,000", ["1000"]),
        (r"12\,345\,678", ["12345678"]),
        (r"1\,000.5", ["1000.5"]),
        ("7", ["7"]),
        ("A_{1 1}", ["1", "1"]),
        ("W_{01} + W_{00}", ["0", "1", "0", "0"]),
        ("W_{10} + 007 + x_{t+01}", ["10", "007", "01"]),
    ],
)
def test_the_numbers(text: str, values: list[str]) -> None:
    assert [token.value for token in tokenize(text) if token.kind == "NUM"] == values


@pytest.mark.parametrize("text", ["1 000", r"2\;5", "[1 2]", "1,000", r"1.0\,00"])
def test_what_may_be_two_numbers_is_refused(text: str) -> None:
    with pytest.raises(Unreadable, match=r"may be one number or two|a point too many"):
        tokenize(text)


@pytest.mark.parametrize("text", [r"2,5 \cdot 4", "3 + 2,5", "10 / 2,5", "0,5 * 0,5"])
def test_a_decimal_comma_in_a_calculation_is_refused(text: str) -> None:
    with pytest.raises(Unreadable, match=r"may be one number or two"):
        tokenize(text)


@pytest.mark.parametrize(
    "text", ["i = 1,2", "i = 1,2,3", "x_{1,2} + 3", r"\{1,2\}", "f(1,2) + 1", r"i = 1,2 + x", "1, 2 + 3"]
)
def test_numbers_of_a_list_are_read(text: str) -> None:
    assert [token.kind for token in tokenize(text)].count("COMMA") >= 1
