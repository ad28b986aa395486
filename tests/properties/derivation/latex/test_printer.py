"""What is printed is read again as the same formula."""

from __future__ import annotations

import pytest

from attention_core.derivation.latex.parse import parse_expression, parse_statement
from attention_core.derivation.latex.printer import all_names, symbol_name, to_latex

FORMULAS = (
    r"\frac{1}{\sqrt{d}} Q K^\top", r"a_{i,j} - b^{2} \odot c", r"\sum_{j} p_{j} v_{j}", r"\exp(x) \cdot \log(1 + x)",
    r"\|x - y\| + |z|", r"\begin{bmatrix} 1 & 2 \\ 3 & 4 \end{bmatrix} x", r"A_{:,c} / B_{1:n}", "-x + 3",
)  # fmt: skip


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_printed_expression_is_read_as_itself(formula: str) -> None:
    read = parse_expression(formula)
    assert parse_expression(to_latex(read)) == read


@pytest.mark.parametrize("chain", [r"a = b \le c", r"x \ne 0", r"x \in S", r"u \approx v \gg w"])
def test_relations_keep_their_signs(chain: str) -> None:
    (read,) = parse_statement(chain).chains
    assert parse_statement(to_latex(read)).chains == (read,)


def test_subscripts_spell_a_symbol() -> None:
    assert symbol_name(parse_expression("W_1")) == "W_{1}"
    assert symbol_name(parse_expression("W_{Q,h}")) == "W_{Q,h}"
    assert symbol_name(parse_expression("(W + V)_1")) is None
    assert all_names(parse_expression("x_1 + y")) == {"x", "x_{1}", "y"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (r"\log^2(x)", r"\log(x)"),
        (r"\log_2(x)", r"\log(x)"),
        (r"\mathbb{E}_x[g]", r"\mathbb{E}_y[g]"),
        (r"\sqrt[3]{x}", r"\sqrt{x}"),
        ("{a + b} c", "a + b c"),
        ("{a + b}^2", "a + b^2"),
        ("-{a + b}", "-a + b"),
        ("a / {b c}", "a / b c"),
        (r"{A B}^\top", r"A B^\top"),
        (r"{A B} \odot C", r"A {B \odot C}"),
        (r"{\sum_i a_i} b", r"\sum_i a_i b"),
        (r"\sum_i {a_i + b}", r"\sum_i a_i + b"),
    ],
)
def test_different_expressions_have_different_texts(one: str, other: str) -> None:
    """A value such as f(x) is a symbol that is named by this text."""
    assert to_latex(parse_statement(one).chains[0]) != to_latex(parse_statement(other).chains[0])
