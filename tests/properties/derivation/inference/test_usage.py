"""What formulas need, and which of their letters are indices or functions."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.inference.usage import needs, usage_of
from attention_core.derivation.latex.parse import parse_statement
from attention_core.derivation.records import GOOD, Verdict
from attention_core.derivation.terms.context import Context


@pytest.mark.parametrize(
    ("formula", "needed"),
    [
        (r"\sum_j x_j + y", [("x", "symbol"), ("y", "symbol")]),
        (r"x_t + I_n", [("x_{t}", "symbol"), ("n", "size")]),
        (r"p_i (\delta_{ij} - \sum_j p_j)", [("p", "symbol"), ("i", "index"), ("j", "index")]),
        (r"e^{\pi a} + \frac{d y}{d x}", [("a", "symbol"), ("y", "symbol"), ("x", "symbol")]),
        (r"\sum_i x_i + x_{\max}", [("x", "symbol"), (r"x_{\text{max}}", "symbol")]),
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


@pytest.mark.parametrize(
    ("formula", "right"),
    [
        (r"\sum_{i=1}^n (x_i - x_{\max}) = \sum_{i=1}^n x_i - n x_{\max}", True),
        (r"\sum_{i=1}^n x_i \le \sum_{i=1}^n x_i^2 + n x_{\text{max}}^2", False),  # x_max is none of them
        (r"\theta_{\text{class}}^T x + \sum_i \theta_i^T x = x^T \theta_{\text{class}} + \sum_i x^T \theta_i", True),
    ],
)
def test_a_word_below_a_letter_is_no_index(formula: str, right: bool) -> None:
    found = check_document(f"$$ {formula} $$\n", infer=True).steps[0]
    assert (found.verdict in ("PROVED", "EXACT", "AGREES")) is right
    assert not any("(an index)" in one and "text" in one for one in found.evidence.figures.get("read as", []))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (r"x_\mathrm{i} + x_\mathrm{i} = 2 x_\mathrm{i}", r"x_\mathrm{i} + x_\mathrm{i} = 3 x_\mathrm{i}"),
        (r"(k_\mathrm{d} + k_\mathrm{i}) s = k_\mathrm{d} s + k_\mathrm{i} s", r"(k_\mathrm{d} + k_\mathrm{i}) s = k_\mathrm{d} s - k_\mathrm{i} s"),
        (r"\frac{\mathrm{d}}{\mathrm{d} t} (k_\mathrm{d} t) = k_\mathrm{d}",
         r"\frac{\mathrm{d}}{\mathrm{d} t} (k_\mathrm{d} t) = 2 k_\mathrm{d}"),
    ],
)  # fmt: skip
def test_an_upright_subscript_is_a_label(right: str, wrong: str) -> None:
    found = [check_document(f"$$ {one} $$\n", infer=True).steps[-1] for one in (right, wrong)]
    assert found[0].verdict in GOOD, found[0].evidence.text
    assert str(found[1].verdict) == "REFUTED", found[1].evidence.text
