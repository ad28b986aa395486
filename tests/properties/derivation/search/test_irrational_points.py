"""Zeros at irrational points: a step that denies them is refuted by an interval with a change of sign."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import GOOD, StepReport, Verdict

REAL = r"Let $x \in \mathbb{R}$."
POSITIVE = r"Let $x > 0$."


def only(declared: str, display: str) -> StepReport:
    (step,) = check_document(f"{declared}\n\n$$ {display} $$\n").steps
    return step


@pytest.mark.parametrize(
    ("declared", "display", "near"),
    [
        (REAL, r"e^x + x \ne 0", "-0.56714329"),
        (REAL, r"(\cos x - x)^2 > 0", "0.73908513"),
        (REAL, r"0 < (e^x - 2)^4", "0.69314718"),
        (POSITIVE, r"x^x \ne 2", "1.5596104"),
        (POSITIVE, r"\log x \ne \frac{1}{x}", "1.7632228"),
        (r"Let $x \in \mathbb{R}$ with $x^2 > 1$.", r"x e^x \ne e^2", "1.5"),
        (REAL, r"\sin x \ne \frac{1}{3}", ""),
    ],
)
def test_an_irrational_zero_refutes(declared: str, display: str, near: str) -> None:
    found = only(declared, display)
    assert found.verdict is Verdict.REFUTED, found.evidence.text
    assert near in found.evidence.text and "changes its sign" in found.evidence.text
    assert found.counterexample is not None and near in str(found.counterexample.values["x"])


@pytest.mark.parametrize(
    ("declared", "display"),
    [
        (REAL, r"e^x \ne 0"),
        (REAL, r"(e^x + 1)^2 > 0"),
        (r"Let $x \in \mathbb{R}$ with $x \ne 0$.", r"\frac{1}{x} \ne 0"),  # its sign changes where it is not defined
        (r"Let $x \in \mathbb{R}$ with $x \ne 0$.", r"\frac{x}{|x|} \ne 0"),
        (r"Let $x \in \mathbb{R}$ with $x^2 > \frac{1}{2}$.", r"e^x + x \ne 0"),
        (POSITIVE, r"e^x + x \ne 0"),  # the zero does not meet the hypothesis
        (r"Let $x \in \mathbb{R}$ with $x \ge 1$.", r"(\cos x - x)^2 > 0"),
    ],
)
def test_no_zero_refutes_nothing(declared: str, display: str) -> None:
    found = only(declared, display)
    assert found.verdict in GOOD, found.evidence.text
