"""What formulas need, and which of their letters are indices or functions."""

from __future__ import annotations

import pytest

from attention_core.derivation.inference.usage import needs, usage_of
from attention_core.derivation.latex.parse import parse_statement
from attention_core.derivation.terms.context import Context


@pytest.mark.parametrize(
    ("formula", "needed"),
    [
        (r"\sum_j x_j + y", [("x", "symbol"), ("y", "symbol")]),
        (r"x_t + I_n", [("x_{t}", "symbol"), ("n", "size")]),
        (r"p_i (\delta_{ij} - \sum_j p_j)", [("p", "symbol"), ("i", "index"), ("j", "index")]),
        (r"e^{\pi a} + \frac{d y}{d x}", [("a", "symbol"), ("y", "symbol"), ("x", "symbol")]),
        (r"x^{(1)} + w_Q", [("x^{(1)}", "symbol"), ("w_{Q}", "symbol")]),
    ],
)
def test_needs_of_a_formula(formula: str, needed: list[tuple[str, str]]) -> None:
    chain = parse_statement(formula).chains[0]
    found = {(need.name, need.kind) for need in needs(Context(), usage_of([chain]), chain)}
    assert found == set(needed)


@pytest.mark.parametrize(
    ("formula", "functions"),
    [("f(x) + a b", {"f"}), ("a (x + y) + a", set()), (r"\phi(x + 1)", {r"\phi"}), ("k(x, y)", {"k"})],
)
def test_letters_in_front_of_an_argument_are_functions(formula: str, functions: set[str]) -> None:
    assert usage_of([parse_statement(formula).chains[0]]).functions == functions
