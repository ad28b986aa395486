r"""Matrices of second derivatives: every spelling is one formula, and a gradient stays one."""

from __future__ import annotations

import pytest

from attention_core.derivation.latex.lexer import tokenize
from attention_core.derivation.latex.parse import parse_tokens
from attention_core.derivation.latex.printer import to_latex


@pytest.mark.parametrize(
    "formula", [r"\nabla_{z}^{2} x", r"\nabla^2_z x", r"\nabla_{zz}^2 x", r"\nabla_z \nabla_z^\top x"]
)
def test_every_spelling_is_one_formula(formula: str) -> None:
    chain = parse_tokens(tokenize(formula, authors=True)).chains[0]
    assert to_latex(chain.exprs[0]) == r"\nabla_{z}^{2} x"


@pytest.mark.parametrize(
    ("formula", "same"),
    [
        (r"\nabla_x y", r"\nabla_{x} y"),
        (r"\nabla_{\theta}^2 L", r"\nabla_{\theta}^{2} L"),
        (r"\nabla_{x_i}^{2} f", r"\nabla_{x_{i}}^{2} f"),
        (r"\nabla_{xy}^2 f", r"\nabla_{y, x} f"),
        (r"\nabla_x \nabla_y^\top f", r"\nabla_{y, x} f"),
    ],
)
def test_the_gradient_by_the_first_variable_comes_first(formula: str, same: str) -> None:
    chain = parse_tokens(tokenize(formula, authors=True)).chains[0]
    assert to_latex(chain.exprs[0]) == same
