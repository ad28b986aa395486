"""The arguments of commands."""

from __future__ import annotations

import pytest

from attention_core.derivation.latex.braces import read_braces
from attention_core.derivation.latex.parse import parse_statement
from attention_core.derivation.latex.syntax import Unreadable


@pytest.mark.parametrize(
    ("text", "inner", "end"),
    [(" {a{b}c}d", "a{b}c", 8), ("xy", "x", 1), (r"\alpha x", r"\alpha", 6), (r"{\}}", r"\}", 4)],
)
def test_the_argument_and_its_end(text: str, inner: str, end: int) -> None:
    assert read_braces(text, 0, 1) == (inner, end)


@pytest.mark.parametrize("text", ["", "  ", "{a", "{a{b}"])
def test_a_missing_argument_is_told_with_its_line(text: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read_braces(text, 0, 7)
    assert caught.value.line == 7


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (r"{X\left({X}^TX\right)}^{-1}", r"X (X^T X)^{-1}"),
        (r"{2 (a + b)}^2", r"2 (a + b)^2"),
        (r"{A (B C)}^\top", r"A (B C)^\top"),
        (r"{(a + b)}^2", r"(a + b)^2"),
        (r"{\left(a (b)\right)}^2", r"(a (b))^2"),
    ],
)
def test_an_exponent_behind_a_brace_is_that_of_the_bracket_in_it(written: str, meant: str) -> None:
    """Braces are not shown."""
    assert parse_statement(written).chains == parse_statement(meant).chains
