"""Words that are typed without a backslash."""

from __future__ import annotations

import pytest

from attention_core.derivation.latex.lexer import tokenize
from attention_core.derivation.latex.parse import parse_tokens


@pytest.mark.parametrize(
    ("formula", "same"),
    [
        (r"log p + ln q", r"\log p + \log q"),
        (r"exp(a) / sqrt(d)", r"\exp(a) / \sqrt{d}"),
        (r"max_{i} x_i", r"\max_{i} x_i"),
        (r"KL(q \| p)", r"\text{KL}(q \| p)"),
        (r"LayerNorm(x)", r"\text{LayerNorm}(x)"),
        (r"rank(A B)", r"\operatorname{rank}(A B)"),
        (r"rank A", r"r a n k A"),
        (r"KL(a + b)", r"K L (a + b)"),
        (r"a b(c)", r"a b (c)"),
    ],
)
def test_other_spellings_are_the_same_formula(formula: str, same: str) -> None:
    assert parse_tokens(tokenize(formula, authors=True)) == parse_tokens(tokenize(same, authors=True))
