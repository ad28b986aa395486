"""Matrices whose columns and rows are shown by bars and dashes."""

from __future__ import annotations

import pytest

from attention_core.derivation.latex.lexer import tokenize
from attention_core.derivation.latex.parse import parse_tokens


@pytest.mark.parametrize(
    ("formula", "same"),
    [
        (r"\begin{pmatrix} | & | \\ u & v \\ | & | \end{pmatrix}", r"\begin{pmatrix} u & v \end{pmatrix}"),
        (r"\begin{pmatrix} - u - \\ - v - \end{pmatrix}", r"\begin{pmatrix} u \\ v \end{pmatrix}"),
        (r"\begin{pmatrix} - & u & - \\ - & v & - \end{pmatrix}", r"\begin{pmatrix} u \\ v \end{pmatrix}"),
        (r"\begin{pmatrix} -u \\ -v \end{pmatrix}", r"\begin{pmatrix} -u \\ - v \end{pmatrix}"),
    ],
)
def test_other_spellings_are_the_same_formula(formula: str, same: str) -> None:
    assert parse_tokens(tokenize(formula, authors=True)) == parse_tokens(tokenize(same, authors=True))
