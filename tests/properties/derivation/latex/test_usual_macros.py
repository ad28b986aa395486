"""Commands that many authors define, and those of packages."""

from __future__ import annotations

import pytest

from attention_core.derivation.latex.lexer import tokenize
from attention_core.derivation.latex.parse import parse_tokens


@pytest.mark.parametrize(
    ("formula", "same"),
    [
        (r"\underset{i=1}{\overset{n}{\sum}} a_i", r"\sum_{i=1}^{n} a_i"),
        (r"\underset{n \times d}{x} + 1", "x + 1"),
        (r"\pdv{u}{x}", r"\frac{\partial u}{\partial x}"),
        (r"\exp -\frac{(x - m)^2}{2}", r"\exp(-\frac{(x - m)^2}{2})"),
        (r"x\T x", r"x^\top x"),
        (r"\half a\inv", r"\frac{1}{2} a^{-1}"),
        (r"\inner{a}{b}", r"\langle a, b \rangle"),
        (r"\braket{a}{b}", r"\langle a, b \rangle"),
        (r"\braket{a + b} c", r"\langle a + b \rangle c"),
        (r"\braket{a^2}_{x} = {b}", r"\langle a^2 \rangle_{x} = {b}"),
        (r"\set{a, b}", r"\{a, b\}"),
        (r"\dv[2]{f}{x}", r"\frac{d^{2} f}{d x^{2}}"),
    ],
)
def test_other_spellings_are_the_same_formula(formula: str, same: str) -> None:
    assert parse_tokens(tokenize(formula, authors=True)) == parse_tokens(tokenize(same, authors=True))
