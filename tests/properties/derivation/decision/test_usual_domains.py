"""Confirmed readings say that a letter is a number, and not that it may be negative: such steps are AMBIGUOUS."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import Verdict

SVD = "The decomposition is\n\n$$ A = U \\Sigma V^T $$\n\nTherefore\n\n"


def check(formula: str, above: str = ""):
    return check_document(f"{above}$$ {formula} $$\n", as_read=True).steps[-1]


@pytest.mark.usefixtures("searched")
@pytest.mark.parametrize(
    ("formula", "domain"),
    [
        (r"(a^b)^c = a^{bc}", "if $a > 0$"),
        (r"\sqrt{x^2} = x", "if $x > 0$"),
        (r"\sqrt{a^2 b} = a \sqrt{b}", "if $a > 0$"),
        (r"|a b| = a |b|", "if $a > 0$"),
        (r"\sum_{i=1}^n |x_i| = \sum_{i=1}^n x_i", "if $x_i > 0$"),
        (r"x^\top x + \|x\|_1 = x^\top x + \sum_{i=1}^n x_i", "if $x_i > 0$"),
        (r"\log(x^2 y) = 2 \log x + \log y", ""),  # where both sides are defined, x is positive
    ],
)
def test_what_holds_of_positive_numbers_is_ambiguous(formula: str, domain: str) -> None:
    step = check(formula)
    assert (step.verdict is Verdict.AMBIGUOUS) is bool(domain), step.evidence.text
    assert domain in step.evidence.text and step.verdict is not Verdict.REFUTED
    assert not domain or ("read as:" in step.evidence.text and "Assume" in step.evidence.advice)


@pytest.mark.parametrize(
    "formula",
    [r"A^T A = V \Sigma^2 V^T", r"A A^T = U \Sigma^2 U^T", r"V \Sigma^T U^T U \Sigma V^T = V \Sigma^2 V^T"],
)
def test_the_factors_of_a_decomposition_may_be_orthogonal_and_diagonal(formula: str) -> None:
    step = check(formula, SVD)
    assert step.verdict is Verdict.AMBIGUOUS and r"^\top" in step.evidence.figures["reading"], step.evidence.text


def test_those_of_an_orthogonal_and_a_triangular_matrix_too() -> None:
    assert check(r"(Q R)^\top Q R = R^\top R").verdict is Verdict.AMBIGUOUS


@pytest.mark.parametrize(
    ("formula", "above"),
    [
        (r"\log(x + y) = \log x + \log y", ""),
        (r"A^T A = U \Sigma^2 V^T + A^T A - V \Sigma V^T", SVD),
        (r"(X W)^\top X W = W^\top W", ""),  # these letters name no decomposition
        (r"\sqrt{x^2} = x", "Let $x \\in \\mathbb{R}$.\n\n"),  # whose author says that it may be negative
        (r"\sqrt{x^2} + y = x + y", "The offset is $x \\in \\mathbb{R}$, and we go on.\n\n"),
    ],
)
def test_what_is_false_there_too_or_is_declared_is_refuted(formula: str, above: str) -> None:
    step = check(formula, above)
    assert step.verdict is Verdict.REFUTED, step.evidence.text
