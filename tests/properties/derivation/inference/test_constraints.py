"""What letters suggest by themselves."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.inference.bold_letters import bold_letters
from attention_core.derivation.inference.constraints import typographic_hint

BOLD = bold_letters(r"\mathbf{x}_i + \mathbf w - \boldsymbol{\mu} + \vec{K}_{j}")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a", "number"), (r"\beta", "number"), ("A", "matrix"), (r"\Sigma", "matrix"), (r"\mathcal{L}", "number"),
        ("L", "number"), ("x_{i}", "column"), ("x", "number"), ("w", "column"), (r"\mu", "column"), ("w_{1}", "number"),
        ("K_{j}", "matrix"), (r"\hat{w}", "column"), ("f(x)", "number"), (r"\Delta W", "matrix"),
    ],
)  # fmt: skip
def test_typography(name: str, kind: str) -> None:
    assert typographic_hint(name, BOLD).kind == kind


@pytest.mark.parametrize(
    ("formula", "read"),
    [
        (r"\operatorname{diag}(l)^{-1} A B = \operatorname{diag}(l)^{-1} (A B)", r"(diag takes vectors)"),
        (r"-\mathbb{E}_{x \sim P}[\log x] = -E_{x \sim P} [\log x]", r"\in \mathbb{R}"),
    ],
)
def test_what_a_formula_says_of_its_letters(formula: str, read: str) -> None:
    (step,) = check_document(f"$$ {formula} $$\n", infer=True).steps
    assert step.verdict in ("PROVED", "EXACT") and read in step.evidence.text, step.evidence.text


def test_a_domain_in_a_display_says_shapes_and_claims_nothing() -> None:
    text = "$$ m_1 = A x \\in \\mathbb{R}^{B_q} $$\n\n$$ A x + m_1 = 2 A x $$\n"
    report = check_document(text, infer=True)
    (step,) = report.steps
    assert step.passed and r"A \in \mathbb{R}^{B_{q} \times " in step.evidence.text, step.evidence.text
    assert (1, r"declared by the display: A x \in \mathbb{R}^{B_q}") in report.unchecked_relations
    (unused,) = check_document(text.split("\n")[0], infer=True).steps
    assert unused.verdict == "UNREADABLE" and "nothing to check" in unused.evidence.text


@pytest.mark.parametrize(
    ("formula", "read"),
    [
        (r"u^T (x - m) (x - m)^T u = (u^T (x - m))^2", r"m \in \mathbb{R}^{n}"),
        (r"(a + b)^\top c = a^\top c + b^\top c", r"b \in \mathbb{R}^{n}"),
        (r"(1 - g)^T (1 - g) = (1 - g)^{T + 1}", r"g \in \mathbb{R} "),  # a power
    ],
)
def test_the_terms_of_a_transposed_sum_are_vectors(formula: str, read: str) -> None:
    step = check_document(f"$$ {formula} $$\n", infer=True).steps[-1]
    assert read in step.evidence.text, step.evidence.text
