"""Values of functions that nobody defines, as symbols of their own."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.inference.letters import stands_above_everywhere
from attention_core.derivation.inference.opaque import Opaque
from attention_core.derivation.inference.usage import usage_of
from attention_core.derivation.latex.parse import parse_statement
from attention_core.derivation.latex.printer import to_latex
from attention_core.derivation.terms.context import Context


@pytest.mark.parametrize(
    ("formula", "read"),
    [
        ("2 f(x)^2", "2 f(x)^{2}"),
        (r"\sum_i f(x_i)", r"\sum_{i} f(x_{\cdot})_{i}"),
        (r"\Delta W x", r"\Delta W x"),
        (r"\sum_i \int f(t) x_i \, dt", r"\sum_{i} \int (f (t) x_{\cdot},t)_{i}"),
        (r"d f(x) \cdot h - d V", r"d f(x) \cdot h - d V"),
        (r"\nabla f(x) + W_i^Q", r"\nabla f(x) + W^{Q}_{i}"),
        (r"d^2 f(x) \cdot (h, k)", r"d^{2} f(x) \cdot (h,k)"),
        (r"p(x; a, b) + \mathcal{N}(x; a, b)", r"p(x, a, b) + \operatorname{Normal}(x, a, b)"),
        (r"1_n + 0_n", r"\mathbf{1}_{n} + \mathbf{0}_{n}"),
        (r"\frac{\partial f(x)}{\partial x}", r"\partial(f (x)) / \partial(x)"),
        (r"\frac{\partial}{\partial x} 2 f(x)", r"\nabla_{x} 2 f (x)"),
    ],
)
def test_the_value_is_one_symbol(formula: str, read: str) -> None:
    chain = parse_statement(formula).chains[0]
    (found,) = Opaque(Context(), usage_of([chain]), [chain]).chains([chain])
    assert to_latex(found) == read
    assert (found == chain) == ("nabla_{x}" in read)


def test_a_letter_that_is_always_an_exponent_may_mark_a_transpose() -> None:
    chain = parse_statement("A^t B^t").chains[0]
    (found,) = Opaque(Context(), usage_of([chain]), [chain], turned=True).chains([chain])
    assert to_latex(found) == r"A^\top B^\top"
    assert stands_above_everywhere("t", [chain])
    assert not stands_above_everywhere("t", [chain, parse_statement("t + 1").chains[0]])


def test_what_an_integral_depends_on_is_not_lost() -> None:
    text = r"$$ \sum_{i=1}^n \int f(t) x_i \, dt = n \int f(t) x_1 \, dt $$"
    (step,) = check_document(text, infer=True).steps
    assert step.verdict == "UNDECIDED", step.evidence.text


@pytest.mark.parametrize(
    "given", [r"Let $e_1, f_1 \in [-1, 1]$.", r"Let $n \in \mathbb{N}$ and $e_1, \dots, e_n, f_1 \in [-1, 1]$."]
)
def test_a_declared_letter_with_an_index_is_no_constant(given: str) -> None:
    (step,) = check_document(f"{given}\n\n$$ |e_1 + f_1| \\le 2 $$", infer=True).steps
    assert step.verdict == "AGREES", step.evidence.text


def test_a_letter_that_stands_in_its_bracket_is_a_factor() -> None:
    text = "$$ p(1 - p) = p - p^2 $$\n\n$$ p(1 - p) = p - p^3 $$\n"
    first, second = check_document(text, infer=True).steps
    assert str(first.verdict) == "PROVED" and str(second.verdict) == "REFUTED"
    (strict,) = check_document("$$ p(1 - p) = p - p^2 $$\n").steps
    assert strict.evidence.text.startswith("p is not declared: write 'Let $p")
    (nested,) = check_document("$$ 2 f(f(x)) = f(x) f(x) $$\n", infer=True).steps
    assert "f(f (x))" in nested.evidence.text


def test_the_index_of_a_norm_is_no_index() -> None:
    head = "Let $X \\in \\mathbb{R}^{n \\times d}$.\n\n"
    false, true = check_document(
        head + "$$ \\|X\\|_F^2 = 2 \\operatorname{tr}(X^\\top X) $$\n\n"
        "$$ \\|X\\|_F^2 = \\operatorname{tr}(X^\\top X) $$\n", infer=True
    ).steps  # fmt: skip
    assert str(false.verdict) == "REFUTED" and str(true.verdict) == "PROVED" and "F" not in true.evidence.text


def test_functions_are_to_be_defined_and_not_declared() -> None:
    value, plain, both = check_document(
        "$$ D(p) \\ge 0 $$\n\n$$ y = y + 1 $$\n\n$$ \\log p(x) \\ge y $$\n", infer=True
    ).steps  # fmt: skip
    asked = "define the functions whose values were read as symbols of their own (--scaffold lists them)"
    assert asked in value.evidence.text and asked in both.evidence.text
    assert "declare its symbols for a verdict (--scaffold proposes how)" in plain.evidence.text


def test_terms_that_are_read_as_symbols_are_not_listed() -> None:
    text = "$$ \\|x\\|^2 + \\frac{\\partial L}{\\partial x} = 3 $$\n"
    (step,) = check_document(text, infer=True).steps
    said = step.evidence.text
    assert str(step.verdict) == "UNDECIDED" and "read as: " not in said and "read_as" not in step.evidence.figures
    assert said.startswith("a number and a column of n stand in one sum: "), said
    assert said.endswith("; terms were read as symbols of their own, which does not decide it")


def test_an_index_above_a_declared_vector_is_to_be_a_subscript() -> None:
    text = "Let $n \\in \\mathbb{N}$, $x \\in \\mathbb{R}^n$ and $i \\in \\{1, \\dots, n\\}$.\n\n$$ x^i = x_1 $$\n"
    (step,) = check_document(text).steps
    assert step.evidence.text == "a column of n has no power 'i': an entry is written as a subscript, x_i"


@pytest.mark.parametrize(
    "claim", [r"H(X) = - \int_x p(x) \log p(x) \, dx", r"H(X) = - F(x)", r"H(X) = \sum_{x \in \mathcal{X}} p(x)"]
)
def test_no_value_is_advised_in_the_place_of_another(claim: str) -> None:
    text = f"$$ H(X) = - E_{{x \\sim P}}[\\log p(x)] $$\n\n$$ {claim} $$\n"
    (step,) = check_document(text, infer=True).steps
    assert str(step.verdict) == "UNDECIDED" and "in place of" not in step.evidence.advice, step.evidence.advice
    (other,) = check_document("$$ (a + b)^2 = a^2 - 2 a b + b^2 - f(x) + f(x) $$\n", infer=True).steps
    assert "$+ 2 a b$ in place of $- 2 a b$" in other.evidence.advice + other.evidence.text
