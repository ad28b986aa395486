"""The eigenvalues of a symmetric matrix have its trace as their sum and its determinant as their product."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.document.blocks import Paragraph, sentences_of
from attention_core.derivation.reading.spelled_eigenvalues import keep_open
from attention_core.derivation.terms.context import Context, Symbol

GOOD = ("PROVED", "EXACT", "AGREES")
GIVEN = [
    r"Let $A \in \mathbb{R}^{n \times n}$ be symmetric with eigenvalues $\lambda_1, \dots, \lambda_n$.",
    r"Let $A$ be a real symmetric $n \times n$ matrix with real eigenvalues $\lambda_1, \lambda_2, \ldots, \lambda_n$.",
    r"Let $A \in \mathbb{R}^{d \times d}$ be a symmetric matrix having eigenvalues $\mu_1, \dots, \mu_{d}$.",
]
OTHERS = [
    r"Let $A \in \mathbb{R}^{n \times n}$ have eigenvalues $\lambda_1, \dots, \lambda_n$.",
    r"Let $A \in \mathbb{R}^{n \times n}$ be symmetric with eigenvalues $\lambda_1, \dots, \lambda_k$.",
    r"Let $A \in \mathbb{R}^{n \times n}$ be symmetric with singular values $\lambda_1, \dots, \lambda_n$.",
]
TRACE, DETERMINANT = r"\operatorname{tr}(A) = \sum_{i=1}^{n} \lambda_i", r"\det(A) = \prod_{i=1}^{n} \lambda_i"
SQUARES, WRONG = r"\operatorname{tr}(A^2) = \sum_{i=1}^{n} \lambda_i^2", r"\det(A) = \sum_{i=1}^{n} \lambda_i"


def verdicts(words: str, *steps: str, formulas: bool = False) -> list[str]:
    letters = {r"\lambda": r"\mu", "{n}": "{d}"} if r"\mu" in words else {}
    text = "\n\n".join(f"$$ {one} $$" for one in steps)
    for old, new in letters.items():
        text = text.replace(old, new)
    report = check_document(f"{words}\n\n{text}\n", infer=True, formulas=formulas)
    return [str(one.verdict) for one in report.steps if not one.is_sentence]


@pytest.mark.parametrize("words", GIVEN)
def test_their_sum_is_the_trace_and_their_product_the_determinant(words: str) -> None:
    found = verdicts(words, TRACE, DETERMINANT, WRONG)
    assert found[0] in GOOD and found[1] in GOOD and found[2] not in GOOD


@pytest.mark.parametrize("formulas", [False, True])
def test_what_depends_on_more_than_these_stays_open(formulas: bool) -> None:
    assert verdicts(GIVEN[0], SQUARES, formulas=formulas) == ["UNDECIDED"]


@pytest.mark.parametrize("words", OTHERS)
def test_of_other_matrices_and_of_some_eigenvalues_nothing_is_accepted(words: str) -> None:
    assert set(verdicts(words, TRACE, DETERMINANT)) <= {"UNDECIDED", "UNREADABLE"}


def test_which_sentence_says_more() -> None:
    context = Context()
    context.declare(Symbol("k", "size", 1, 0))
    found = [
        keep_open(context, sentences_of(Paragraph(2, text))[0])
        for text in ("Here $k$ are the eigenvalues of $A$.", "Here $k$ is an eigenvalue of $A$.")
    ]
    assert [[one.plain and one.names for one in each] for each in found] == [[{"k"}], []]
