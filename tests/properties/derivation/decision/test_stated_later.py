"""A domain that a later section says refutes nothing above it."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import GOOD, Verdict

SAYS = "Every $a \\in \\mathbb{R}^{p \\times p}$ and $b \\in \\mathbb{R}^{p \\times p}$ is allowed."


def test_a_domain_of_a_later_section_is_of_another_symbol() -> None:
    above = "# Numbers\n\nWe expand and find\n\n$$ (a + b)^2 - a b = a^2 + a b + b^2 $$\n\n"
    for title, verdict in (("# Spaces\n\n", Verdict.AMBIGUOUS), ("", Verdict.REFUTED)):
        first = check_document(f"{above}{title}{SAYS}\n", as_read=True).steps[0]
        assert first.verdict is verdict, first.evidence.text


def test_a_domain_of_a_later_section_is_not_the_only_reading() -> None:
    above = "# Numbers\n\nWe expand and find\n\n$$ (a + b)^2 - a b = a^2 + a b + b^2 $$\n\n"
    for title, verdict in (("# Spaces\n\n", Verdict.AMBIGUOUS), ("", Verdict.REFUTED)):
        says = f"{title}The matrices are $a, b \\in \\mathbb{{R}}^{{2 \\times 2}}$.\n"
        first = check_document(f"All hypotheses are declared as formulas.\n\n{above}{says}", infer=True).steps[0]
        assert first.verdict is verdict, first.evidence.text


@pytest.mark.parametrize(
    ("formula", "says", "lasting"),
    [
        ("(A + B)^2 = A^2 + 2 A B + B^2", "Let $A, B \\in \\mathbb{R}$.", "(A + B)^2 = A^2 + A B + B A + B^2"),
        ("(A + B) (A - B) = A^2 - B^2", "Here $A$ and $B$ are real numbers.", "A + B = B + A"),
        ("\\sqrt{n} \\le n", "Let $n \\in \\mathbb{N}$.", "n \\le n^2 + 1"),
        ("x^2 \\ge x", "Let $x \\in \\mathbb{N}$.", "x^2 \\ge 2 x - 1"),
    ],
)
def test_nothing_above_is_accepted_by_a_domain_of_a_later_section_alone(formula: str, says: str, lasting: str) -> None:
    for title, accepted in (("", True), ("# Numbers\n\n", False)):
        one, other = (
            check_document(f"# Sums\n\n$$ {each} $$\n\n{title}{says}\n", infer=True).steps[0]
            for each in (formula, lasting)
        )
        assert (one.verdict in GOOD) is accepted, one.evidence.text
        assert other.verdict in GOOD, other.evidence.text
    assert one.verdict is Verdict.AMBIGUOUS
