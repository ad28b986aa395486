"""Einstein's sums: where a document says so, an index that stands twice in a product is summed over."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.reading.repeated_indices import says_sums
from attention_core.derivation.records import GOOD, Verdict

DECLARED = (
    r"Let $n, m, p \in \mathbb{N}$, $A \in \mathbb{R}^{n \times m}$, $B \in \mathbb{R}^{m \times p}$, $x \in \mathbb{R}^{m}$ "
    r"and $S \in \mathbb{R}^{n \times n}$. Put $C := A B$."
)
SAID = "Repeated indices are summed."
STEPS = [
    (r"C_{ik} = A_{ij} B_{jk}", True),
    (r"S_{ii} = \operatorname{tr}(S)", True),
    (r"x_i x_i = \|x\|^2", True),
    (r"A_{ij} (B_{jk} + B_{jk}) = 2 (A B)_{ik}", True),
    (r"A_{ij} x_j - (A x)_i = 0", True),
    (r"\delta_{ij} x_j = x_i", True),
    (r"A_{ij} B_{jk} = 2 (A B)_{ik}", False),
    (r"A_{ij} x_j = 2 (A x)_i", False),
    (r"S_{ii} = 2 S_{11}", False),
]


@pytest.mark.parametrize(("formula", "right"), STEPS)
def test_repeated_indices_are_summed_where_the_document_says_so(formula: str, right: bool) -> None:
    report = check_document(f"{DECLARED}\n\n{SAID}\n\n$$ {formula} $$\n", infer=True)
    found = report.steps[-1]
    assert found.verdict in GOOD if right else found.verdict is Verdict.REFUTED, found.evidence.text
    if found.counterexample is not None:
        assert "j" not in found.counterexample.values, "a summed index has no value"


@pytest.mark.parametrize(("formula", "right"), STEPS)
def test_a_step_that_needs_these_sums_is_ambiguous_where_nothing_says_so(formula: str, right: bool) -> None:
    found = check_document(f"{DECLARED}\n\n$$ {formula} $$\n", infer=True).steps[-1]
    assert found.verdict not in GOOD, found.evidence.text
    assert (found.verdict is Verdict.REFUTED) is not right  # false with sums and without
    assert (found.verdict is Verdict.AMBIGUOUS) is right
    assert not right or "Einstein" in found.evidence.text


def test_the_convention_ends_with_its_section_and_is_not_said_by_a_denial() -> None:
    text = f"{DECLARED}\n\n## Sums\n\n{SAID}\n\n$$ x_i x_i = x^\\top x $$\n\n## Other\n\n$$ x_i x_i = x^\\top x $$\n"
    said, other = check_document(text, infer=True).steps
    assert said.verdict in GOOD and other.verdict is Verdict.AMBIGUOUS
    assert not says_sums("No sum over repeated indices is meant.") and says_sums(
        "Sums over repeated indices are implied."
    )


def test_the_sentence_leaves_no_doubt() -> None:
    for words in ("We use Einstein's summation convention.", "Summation over repeated indices is implied.", SAID):
        found = check_document(f"{DECLARED}\n\n{words}\n\n$$ A_{{ij}} x_j = 2 (A x)_i $$\n", infer=True).steps[-1]
        assert found.verdict is Verdict.REFUTED, found.evidence.text


INNER = [
    (r"(x_i y_i)^2 = (x^\top y)^2", True),
    (r"\exp(x_i y_i) = \exp(x^\top y)", True),
    (r"\sqrt{x_i x_i} = \|x\|", True),
    (r"|x_i y_i| = |x^\top y|", True),
    (r"(x_i y_i)^2 = x_i x_j y_i y_j", True),
    (r"\frac{x_i y_i}{x_j x_j} = \frac{x^\top y}{\|x\|^2}", True),
    (r"S_{ij} T_{ji} = T_{ij} S_{ji}", True),
    (r"S_{ij} x_i x_j = S_{ji} x_i x_j", True),
    (r"S_{ij} T_{jk} = T_{jk} S_{ij}", True),
    (r"(x_i y_i)^2 = x_i^2 y_i^2", False),
    (r"(x_i y_i)^2 = x_i x_i y_j y_j", False),
    (r"\sqrt{x_i x_i} = \sum_{i=1}^n |x_i|", False),
    (r"S_{ij} T_{ij} = S_{ij} T_{ji}", False),
]


@pytest.mark.parametrize(("formula", "right"), INNER)
def test_brackets_have_sums_of_their_own_and_both_sides_may_have_the_same_letters(formula: str, right: bool) -> None:
    declared = r"Let $n \in \mathbb{N}$, $S, T \in \mathbb{R}^{n \times n}$ and $x, y \in \mathbb{R}^{n}$."
    found = check_document(f"{SAID}\n\n{declared}\n\n$$ {formula} $$\n", infer=True).steps[-1]
    assert found.verdict in GOOD if right else found.verdict is Verdict.REFUTED, found.evidence.text


@pytest.mark.parametrize(
    "prose",
    [
        "Unlike in physics, repeated indices are summed only where a sum is written.",
        "In physics, repeated indices are summed over.",
        "Many authors use Einstein's summation convention.",
        "The Einstein summation convention is explained in Section 3.",
        "One could use Einstein notation here.",
        "Compare this with Einstein's convention.",
        "We only sum over repeated indices where a sum is written.",
    ],
)
def test_the_convention_of_others_is_not_the_one_of_the_document(prose: str) -> None:
    assert not says_sums(prose)


@pytest.mark.parametrize(
    "prose",
    [
        "As in physics, repeated indices are summed over.",
        "The Einstein summation convention is used throughout.",
        "With Einstein notation",
        "In Einstein notation, we write",
        "Einstein summation convention.",
        "Summation over repeated indices is understood.",
    ],
)
def test_the_convention_of_the_document(prose: str) -> None:
    assert says_sums(prose)
