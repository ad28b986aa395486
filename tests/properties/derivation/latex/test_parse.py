"""A formula is parsed once, and still has the line on which it stands."""

from __future__ import annotations

import pytest

from attention_core.derivation.latex.lexer import tokenize
from attention_core.derivation.latex.parse import parse_statement, parse_tokens
from attention_core.derivation.latex.printer import to_latex
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


def test_relations_and_refusals_have_the_line_on_which_they_stand_now() -> None:
    for line in (3, 8):
        assert parse_statement(r"i \in S" + "\n= a \\implies b = c", line).lines == (line + 1,)
        assert parse_statement("x_{i < j}\n= y", line).chains[0].lines == (line + 1,)
        inner = parse_statement(r"\sum_{i = 1}^n a_i", line).chains[0].exprs[0]
        assert inner.below[0].lines == (line,)  # type: ignore[union-attr]
        with pytest.raises(Unreadable) as error:
            tokenize("a +\n" + r"\unknown", line)
        assert error.value.line == line + 1


def test_a_formula_without_relations_is_one_tree_on_every_line() -> None:
    assert parse_statement(r"\frac{a}{b} + c_{i j}", 3) is parse_statement(r"\frac{a}{b} + c_{i j}", 8)


def test_an_accent_over_a_letter_with_an_index_is_over_the_letter() -> None:
    for written in (r"\hat{y_i}", r"\hat{y}_i", r"\hat{ y _ {i} }"):
        (chain,) = parse_statement(rf"{written} = \bar{{\alpha_{{t-1}}}}").chains
        assert to_latex(chain) == r"\hat{y}_{i} = \bar{\alpha}_{t - 1}"
    (chain,) = parse_statement(r"\overline{x_1 + x_2} = z").chains
    assert "x_1+x_2" in to_latex(chain)


def test_a_function_in_letters_without_an_argument_is_a_symbol_with_its_index() -> None:
    (chain,) = parse_statement(r"\exp(\mathrm{lse}^j) + \mathrm{lse}_j = \mathrm{exp}^2(x)").chains
    assert to_latex(chain) == r"\exp(\text{lse}^{j}) + \text{lse}_{j} = \exp^{2}(x)"


@pytest.mark.parametrize("arrow", [r"\to", r"\rightarrow"])
def test_a_function_between_spaces_says_how_it_is_defined(arrow: str) -> None:
    with pytest.raises(Unreadable, match=r"a function between spaces cannot be declared .*define it by its value"):
        parse_statement(rf"f : \mathbb{{R}}^n {arrow} \mathbb{{R}}^n")
    with pytest.raises(Unreadable, match="the sign ':' is not expected after 'f'"):
        parse_statement("f : x = 1")
