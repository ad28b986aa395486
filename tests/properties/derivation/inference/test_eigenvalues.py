r"""Eigenvalues and singular values beside a \lambda or \sigma that is declared, and of formulas that are matrices."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.records import GOOD, StepReport, Verdict

HEAD = r"""Let $n \in \mathbb{N}$, $A \in \mathbb{R}^{n \times n}$ with $A = A^\top$, $B \in \mathbb{R}^{n \times n}$, $z \in \mathbb{R}^n$
and $\lambda, \sigma > 0$. All hypotheses are declared as formulas."""


def step_of(step: str, head: str = HEAD) -> StepReport:
    return check_document(f"{head}\n\n$$ {step} $$\n", effort=Effort(seconds=6.0), infer=True).steps[-1]


RIGHT_AND_WRONG = [
    (r"\|A\|_F^2 = \sum_{i=1}^n \lambda_i(A)^2", r"\|A\|_F^2 = \sum_{i=1}^n \lambda_i(A)"),
    (
        r"\lambda_{\max}(A + \lambda I) = \lambda_{\max}(A) + \lambda",
        r"\lambda_{\max}(A + \lambda I) = \lambda_{\max}(A)",
    ),
    (r"\sigma_{\max}(\sigma B) = \sigma \sigma_{\max}(B)", r"\sigma_{\max}(\sigma B) = \sigma_{\max}(B)"),
]


@pytest.mark.parametrize(("right", "wrong"), RIGHT_AND_WRONG, ids=[right[:30] for right, _ in RIGHT_AND_WRONG])
def test_a_declared_number_leaves_the_eigenvalues_alone(right: str, wrong: str) -> None:
    assert step_of(right).verdict in GOOD
    assert step_of(wrong).verdict is Verdict.REFUTED


@pytest.mark.usefixtures("searched")
def test_the_matrix_may_be_a_hessian_of_vectors() -> None:
    step = step_of(r"\lambda_{\max}(\nabla_z^2 \log \sum_{i=1}^n e^{z_i}) \le \frac14")
    assert step.verdict is Verdict.REFUTED


def test_a_number_in_front_of_a_bracket_is_a_factor() -> None:
    assert step_of(r"\lambda (A) z = \lambda A z").verdict in GOOD
    head = r"Let $n \in \mathbb{N}$, $\lambda \in \mathbb{R}^n$ and $A \in \mathbb{R}^{n \times n}$."
    assert step_of(r"\lambda_1 (A) = A \lambda_1", head).verdict in GOOD  # an entry of the vector that is declared


def test_a_singular_value_is_not_defined_by_a_display() -> None:
    report = check_document("# Norms\n\n" + r"$$ \sigma_1(C) = \lambda_1(C^\top C) $$" + "\n", infer=True)
    assert not [text for _, text in report.understood if text.startswith("defined by the display")]
    assert report.steps[-1].verdict not in GOOD


@pytest.mark.parametrize(
    "words",
    [
        r"Ordering the eigenvalues as $\lambda_1(A) \ge \dots \ge \lambda_n(A)$, we get",
        r"Let $\lambda > 0$. Let $C \in \mathbb{R}^{n \times n}$ have the singular values $\sigma_1(C) \ge \sigma_2(C) \ge \dots$",
    ],
)
def test_that_the_largest_comes_first_restricts_nothing(words: str) -> None:
    head = r"Let $n \in \mathbb{N}$ and $A \in \mathbb{R}^{n \times n}$ be symmetric."
    step = step_of(r"\operatorname{tr}(A) = \sum_{i=1}^n \lambda_i(A)^2", f"{head}\n\n{words}")
    assert step.verdict is Verdict.REFUTED
