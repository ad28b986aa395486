"""A formula is parsed once, and still has the line on which it stands."""

from __future__ import annotations

import pytest

from attention_core.derivation.latex.lexer import tokenize
from attention_core.derivation.latex.parse import parse_statement, parse_tokens
from attention_core.derivation.latex.syntax import Unreadable

FORMULA = r"a + b = \frac{c}{d}"


def test_the_same_formula_on_another_line_has_that_line() -> None:
    assert [parse_statement(FORMULA, line).chains[0].exprs for line in (3, 7)] == [
        parse_statement(FORMULA).chains[0].exprs
    ] * 2
    assert [{token.line for token in tokenize(FORMULA, line)} for line in (3, 7)] == [{3}, {7}]
    for line in (4, 9):
        with pytest.raises(Unreadable) as error:
            parse_statement("a + = b", line)
        assert error.value.line == line


def test_what_a_reader_does_with_its_tokens_changes_no_other_reading() -> None:
    tokens = tokenize(FORMULA)
    before = parse_tokens(tokens)
    tokens.clear()
    assert parse_statement(FORMULA) == before and len(tokenize(FORMULA)) > 3


def test_long_formulas_are_parsed_as_short_ones() -> None:
    long = " + ".join(f"x_{{{n}}}" for n in range(300))
    assert len(parse_statement(long).chains[0].exprs[0].terms) == 300  # type: ignore[union-attr]
