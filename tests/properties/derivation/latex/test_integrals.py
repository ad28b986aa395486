"""Integrals, which end with their differential, get brackets."""

from __future__ import annotations

import pytest

from attention_core.derivation.latex.integrals import enclose_integrals
from attention_core.derivation.latex.lexer import tokenize
from attention_core.derivation.latex.parse import parse_statement
from attention_core.derivation.latex.printer import to_latex
from attention_core.derivation.latex.syntax import Unreadable


@pytest.mark.parametrize(
    ("formula", "read"),
    [
        (r"\int_0^1 e^{-t s} \, dt + 3 x", r"\int_{0}^{1} (e^{-t s},t) + 3 x"),
        (r"\int_{-\infty}^\infty q(x) \, dx = 1", r"\int_{-\infty}^{\infty} (q (x),x) = 1"),
        (r"\int_x \int_y p(x, y) \; dx \; dy", r"\int_{x} (\int_{y} (p (x,y),x),y)"),
        (r"\int_{x, y} p(x, y) dx dy", r"\int_{x, y} (p (x,y),x,y)"),
        (r"\int p(x) \mathrm{d}\mathbf{x}_0", r"\int (p (x),x_{0})"),
        (r"\int dx", r"\int (1,x)"),
    ],
)
def test_an_integral_is_its_body_and_its_variables(formula: str, read: str) -> None:
    assert to_latex(parse_statement(formula).chains[0]) == read


def test_an_integral_without_a_differential_is_named() -> None:
    with pytest.raises(Unreadable, match="ends with its differential"):
        tokenize(r"\int p(x) = 1")


def test_other_tokens_stay_as_they_are() -> None:
    tokens = tokenize("x + d y")
    assert enclose_integrals(tokens) == tokens
