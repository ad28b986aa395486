"""Headings: a subject restricts no symbol, and an adjective, a condition, a number or a kind of arrays may."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import Verdict
from attention_core.derivation.words.headings import may_restrict

SUBJECTS = (
    "Numbers", "Probability", "Softmax", "Flash Attention Forward", "2.1 Core Concept", "Model Compilation",
    "Information Theory Basics", "The Logistic Function", "Cross Entropy Loss Function", "Gumbel Distribution",
    "Evidence Lower Bound", "Step 3: Evaluating Estimators", "[Practice](#top) Problems", "Word vectors",
    "Why attention divides by the square root of d", "Dividing by the square root of the head dimension",
)  # fmt: skip
RESTRICT = (
    "Orthogonal keys", "Circumcentred keys", "Rotations", "Case 2", "A score", "At initialization", "One head",
    "Zero-mean inputs", "The diagonal", "Without scaling", "Shifted scores", "Linear maps", "Probabilities",
    "Ergodic chains", "Positive weights", "$y = x$", "Наши матрицы", "If the keys agree",
    "At a root of f", "Square matrices", "The square root of a positive matrix", "Square roots of unity",
)  # fmt: skip


def test_subjects_and_what_restricts() -> None:
    assert [text for text in SUBJECTS if may_restrict(text)] == []
    assert [text for text in RESTRICT if not may_restrict(text)] == []


@pytest.mark.parametrize("heading", ["Numbers", "Softmax", "Model Compilation"])
def test_a_step_below_a_subject_is_refuted(heading: str) -> None:
    text = "# Notes\n\n## %s\n\nLet $z \\in \\mathbb{R}^n$ and $p = \\operatorname{softmax}(z)$.\n\n$$ p = z $$\n"
    assert check_document(text % heading, infer=True).steps[-1].verdict is Verdict.REFUTED


def test_a_heading_speaks_of_its_own_section() -> None:
    text = (
        "# Notes\n\n## Sums\n\nLet $A, B \\in \\mathbb{R}^{n \\times n}$.\n\n$$ A B = B A $$\n\n## %s\n\n$$ 1 = 1 $$\n"
    )
    assert check_document(text % "Commuting matrices", infer=True).steps[0].verdict is Verdict.REFUTED
    inside = text.replace("Sums", "%s") % ("Commuting matrices", "Sums")
    assert check_document(inside, infer=True).steps[0].verdict is Verdict.UNDECIDED


def test_a_false_step_below_a_question_about_the_scale_is_refuted() -> None:
    text = "# %s\n\nLet $d \\in \\mathbb{N}$ and $q, k \\in \\mathbb{R}^d$.\n\n$$ q^\\top k = \\|q\\|^2 + \\|k\\|^2 + 1 $$\n"
    asked = check_document(text % "Why attention divides by the square root of d", infer=False).steps[0]
    assert asked.verdict is Verdict.REFUTED, asked.evidence.text
    assert check_document(text % "Orthogonal keys", infer=False).steps[0].verdict is Verdict.UNDECIDED
