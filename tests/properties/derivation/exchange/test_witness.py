"""SymPy's opinion on steps: asked where it can be, shown, and never a verdict."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import Verdict

HEAD = "Let $x, y \\in \\mathbb{R}$, $z > 0$ and $A \\in \\mathbb{R}^{2 \\times 2}$.\n\n"


@pytest.mark.parametrize(
    ("formula", "verdict", "words"),
    [
        ("(x + y)^2 = x^2 + 2 x y + y^2", Verdict.PROVED, "SymPy agrees"),
        ("(x + y)^2 = x^2 + y^2", Verdict.REFUTED, "SymPy agrees"),
        (r"\log(z^2) = 2 \log z", Verdict.AGREES, "SymPy agrees"),
        ("A = A", Verdict.PROVED, None),
        (r"x^2 \ge 0", Verdict.PROVED, None),
    ],
)
def test_sympy_is_asked_about_equations_between_numbers(formula: str, verdict: Verdict, words: str | None) -> None:
    step = check_document(f"{HEAD}$$ {formula} $$\n", witness=True).steps[-1]
    assert step.verdict is verdict or (verdict is Verdict.AGREES and step.passed), step.evidence.text
    assert step.evidence.figures.get("witness") == words


def test_sympy_is_not_asked_where_a_hypothesis_matters() -> None:
    step = check_document(HEAD + "Assume $x = y$.\n\n$$ x^2 = x y $$\n", witness=True).steps[-1]
    assert step.passed and "witness" not in step.evidence.figures
