"""What formulas need, and which of their letters are indices or functions."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.inference.usage import needs, usage_of
from attention_core.derivation.latex.parse import parse_statement
from attention_core.derivation.records import Verdict
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


@pytest.mark.parametrize(
    ("formula", "verdict"),
    [
        (r"(Q K^\top) V = Q (K^\top V)", Verdict.PROVED),
        (r"(A B) x = A (B x)", Verdict.PROVED),
        (r"(Q K^\top) V = Q (V^\top K)", Verdict.REFUTED),
        (r"L(W x) = 2 L(W x)", Verdict.UNDECIDED),  # nowhere a factor: a function
        (r"2 f(a b) = f(a b)", Verdict.UNDECIDED),
    ],
)
def test_a_capital_that_is_a_factor_is_no_function_of_a_product(formula: str, verdict: Verdict) -> None:
    (found,) = check_document(f"$$ {formula} $$\n", infer=True).steps
    assert found.verdict is verdict, found.evidence.text
    assert ("a function that is not defined" in found.evidence.text) is (formula[0] in "L2")
