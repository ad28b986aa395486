"""A domain that a later section says refutes nothing above it."""

from __future__ import annotations

from attention_core.derivation import check_document
from attention_core.derivation.records import Verdict

SAYS = "Every $a \\in \\mathbb{R}^{p \\times p}$ and $b \\in \\mathbb{R}^{p \\times p}$ is allowed."


def test_a_domain_of_a_later_section_is_of_another_symbol() -> None:
    above = "# Numbers\n\nWe expand and find\n\n$$ (a + b)^2 - a b = a^2 + a b + b^2 $$\n\n"
    for title, verdict in (("# Spaces\n\n", Verdict.UNDECIDED), ("", Verdict.REFUTED)):
        first = check_document(f"{above}{title}{SAYS}\n", as_read=True).steps[0]
        assert first.verdict is verdict, first.evidence.text


def test_a_domain_of_a_later_section_is_not_the_only_reading() -> None:
    above = "# Numbers\n\nWe expand and find\n\n$$ (a + b)^2 - a b = a^2 + a b + b^2 $$\n\n"
    for title, verdict in (("# Spaces\n\n", Verdict.UNDECIDED), ("", Verdict.REFUTED)):
        says = f"{title}The matrices are $a, b \\in \\mathbb{{R}}^{{2 \\times 2}}$.\n"
        first = check_document(f"All hypotheses are declared as formulas.\n\n{above}{says}", infer=True).steps[0]
        assert first.verdict is verdict, first.evidence.text
