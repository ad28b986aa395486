"""Which paragraphs declare, what goes on behind a display, and where a symbol is declared too late."""

from __future__ import annotations

import pytest

from attention_core.derivation.document.blocks import Paragraph
from attention_core.derivation.latex.lexer import tokenize
from attention_core.derivation.latex.syntax import Statement, Unreadable
from attention_core.derivation.terms.context import Failed
from attention_core.derivation.words.paragraphs import (
    cause_above,
    cut_at_commas,
    declared_later,
    going_on,
    is_condition,
    is_declaration,
    read_pieces,
    says_domain,
)


@pytest.mark.parametrize(
    ("text", "declares"),
    [
        (r"Let $x \in \mathbb{R}$.", True),
        ("  Assume $x > 0$.", True),
        ("Let us begin.", False),  # without a formula
        (r"Let's take $x \in \mathbb{R}$.", False),
        ("We let $x$ grow.", False),  # the opener comes first
        ("Letting $x$ grow, we see it.", False),
    ],
)
def test_a_declaration_opens_with_its_word_and_has_a_formula(text: str, declares: bool) -> None:
    assert is_declaration(Paragraph(1, text)) is declares


@pytest.mark.parametrize(
    ("text", "declared"),
    [
        (r"where $m \in \mathbb{N}$.", r"where $m \in \mathbb{N}$."),
        (r"with $m \in \mathbb{N}$.", r"where $m \in \mathbb{N}$."),
        (r"for all $x \in \mathbb{R}$", r"where $x \in \mathbb{R}$"),
        ("where this holds.", None),
        (r"with $x > 0$.", None),  # a condition, not a domain
        (r"by $m \in \mathbb{N}$.", None),
    ],
)
def test_what_goes_on_behind_a_display_declares_domains(text: str, declared: str | None) -> None:
    found = going_on(Paragraph(7, text))
    assert (found and found.text) == declared
    assert found is None or found.line == 7


def test_lines_are_kept_where_words_are_replaced() -> None:
    found = going_on(Paragraph(7, "with\n$m \\in \\mathbb{N}$."))
    assert found is not None and found.text == "\nwhere $m \\in \\mathbb{N}$."


def test_a_symbol_that_is_declared_too_late_is_found_with_its_line() -> None:
    later = [Paragraph(3, "Here $x > 0$."), Paragraph(5, r"Let $a, x \in \mathbb{R}$."), Paragraph(9, r"Let $x := 1$.")]
    assert declared_later(later, "x") == 5
    assert declared_later(later, "a") == 5
    assert declared_later(later, "b") == 0
    assert declared_later(later[:1], "x") == 0  # a condition declares nothing


def test_the_cause_of_a_missing_symbol_is_the_first_line_that_could_not_be_read() -> None:
    sizes = Failed(Paragraph(2, r"Let $n \in \mathbb{Q}$."), 1, "what Q is is not known")
    array = Failed(Paragraph(4, r"Let $x \in \mathbb{R}^n$."), 1, "n is not a size: write it")
    missing = "x is not declared: write it"
    assert cause_above([sizes, array], missing).startswith("; line 2 had to be read first: what Q is")
    assert cause_above([array], missing).startswith("; line 4 had to be read first: n is not")
    assert cause_above([sizes], missing) == "" == cause_above([sizes, array], "a stray bracket")


def test_formulas_are_cut_at_commas_outside_of_brackets() -> None:
    pieces = cut_at_commas(tokenize(r"x, f(a, b) \quad c,", 1))
    assert [piece[0].value for piece in pieces] == ["x", "f", "c"]


@pytest.mark.parametrize(
    ("formula", "domain", "sizes", "condition"),
    [
        (r"x \in \mathbb{R}", True, False, True),
        (r"n, m \in \mathbb{N}", True, True, True),
        (r"x > 0", False, False, True),
        (r"x", False, False, False),
        (r"\frac{1", False, False, False),
    ],
)
def test_domains_and_conditions(formula: str, domain: bool, sizes: bool, condition: bool) -> None:
    assert says_domain(formula, 1, False) is domain
    assert says_domain(formula, 1, True) is sizes
    assert is_condition(formula, 1) is condition


def test_the_pieces_of_a_formula_are_read_or_say_why_not() -> None:
    pieces = read_pieces(r"x > 0, y \frac, z", 4)
    assert [[token.value for token in tokens][:2] for tokens, _ in pieces] == [["x", ">"], ["y", ""], ["z"]]
    relation, unread, alone = (found for _, found in pieces)
    assert isinstance(relation, Statement) and relation.chains[0].lines == (4,)
    assert isinstance(unread, Unreadable) and unread.line == 4
    assert isinstance(alone, Statement) and alone.chains[0].alone
    with pytest.raises(Unreadable, match="never closed"):
        read_pieces("(x", 1)
