r"""Roles with bounds restrict nothing where the symbol has the bounds."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import Verdict


@pytest.mark.parametrize(
    ("sentence", "step", "verdict"),
    [
        (r"Let $\gamma \in (0, 1)$ be the discount factor.", r"\frac{1}{1 - \gamma} > 2", Verdict.REFUTED),
        (r"Let $T > 0$ be the temperature.", "T > 2", Verdict.REFUTED),
        (r"Let $y \in \{-1, 1\}$ be a label.", "y + 1 = 2 y^2", Verdict.REFUTED),
        (r"Let $T \le 5$ be the temperature.", "T > -2", Verdict.UNDECIDED),
        (r"Let $y \in \mathbb{R}^n$ be a label.", r"\|y\| = 1", Verdict.UNDECIDED),
    ],
)
def test_a_role_may_say_more_than_the_declaration(sentence: str, step: str, verdict: Verdict) -> None:
    assert check_document(f"{sentence}\n\nHence\n\n$$ {step} $$\n", infer=True).steps[-1].verdict is verdict


WEIGHTS = "Let $n, d \\in \\mathbb{N}$ and $Q, K \\in \\mathbb{R}^{n \\times d}$. Put $A := \\operatorname{softmax}(Q K^\\top)$.\n\n"
FREE = "Let $n \\in \\mathbb{N}$ and $A \\in \\mathbb{R}^{n \\times n}$.\n\n"
FALSE = "$$ A^\\top \\mathbf{1}_n = n \\mathbf{1}_n \\cdot A_{1,1} $$\n"
CLAIM = "$$ A \\mathbf{1}_n = \\mathbf{1}_n $$\n"


@pytest.mark.parametrize(
    "words", ["Each row of $A$ sums to one:", "Each row of A sums to one:", "So all rows of $A$ sum to 1:"]
)
def test_that_the_rows_of_a_softmax_sum_to_one_restricts_nothing(words: str) -> None:
    claimed, false = check_document(f"{WEIGHTS}{words}\n\n{CLAIM}\n{FALSE}", infer=False).steps
    assert claimed.passed and false.verdict is Verdict.REFUTED, false.evidence.text
    below = check_document(f"{WEIGHTS}{words}\n\n{FALSE}", infer=True).steps
    assert [step.verdict for step in below] == [Verdict.REFUTED]


@pytest.mark.parametrize(
    "text",
    [
        f"{FREE}Each row of $A$ sums to one:\n\n{CLAIM}",
        f"{WEIGHTS}Each column of $A$ sums to one:\n\n{FALSE}",
    ],
)
def test_of_other_arrays_it_may_be_a_hypothesis(text: str) -> None:
    assert check_document(text, infer=False).steps[-1].verdict is Verdict.UNDECIDED


def test_a_step_that_rests_on_no_reading_names_none() -> None:
    text = f"{FREE}Some words that frobnicate.\n\n$$ A \\mathbf{{1}}_n = 2 A \\mathbf{{1}}_n - 2 A \\mathbf{{1}}_n + 3 A \\mathbf{{1}}_n $$\n"
    for step in check_document(text, infer=False).steps:
        assert "read as:  " not in step.evidence.text and "read as: (" not in step.evidence.text
