"""Domains behind "For", "With" and "If" declare, and conditions stay conditions."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.document.blocks import Display, Paragraph
from attention_core.derivation.reading.spelled_quantifiers import spell_quantifiers
from attention_core.derivation.records import GOOD, Verdict

R = r"\in \mathbb{R}"


@pytest.mark.parametrize(
    "words",
    [
        f"For $a, b {R}$ we have:",
        f"For $a, b {R}$,",
        f"For every $a {R}$ and $b {R}$ it holds that",
        f"If $a, b {R}$, then",
        f"With $a {R}$ and $b {R}$\nwe get",
    ],
)
def test_steps_are_decided(words: str) -> None:
    for step, right in ((r"\max(a, b) \ge \log(e^a + e^b)", False), (r"\max(a, b) \le \log(e^a + e^b)", True)):
        found = check_document(f"{words}\n\n$$ {step} $$\n", infer=True).steps[-1]
        assert found.verdict in GOOD if right else found.verdict is Verdict.REFUTED, found.evidence.text
        assert found.line == 3 + words.count("\n")


@pytest.mark.parametrize(
    "words",
    [
        r"For $a, b \in \mathbb{R}$ that are positive we have:",
        r"If $a \in \mathbb{R}$ and $a > 0$, then",
        r"For $x \in [0, 1]$ we have:",
        r"For some $a \in \mathbb{R}$ we have:",
        r"For $a \in \mathbb{R}$ large enough,",
    ],
)
def test_conditions_stay(words: str) -> None:
    blocks = [Paragraph(1, words), Display(3, "a = a")]
    assert spell_quantifiers(blocks) == blocks


def test_what_is_declared_above_keeps_what_it_says() -> None:
    text = "Let $x > 0$.\n\nFor $x \\in \\mathbb{R}$ we have\n\n$$ \\sqrt{x^2} = x $$\n"
    assert check_document(text, infer=True).steps[-1].verdict is not Verdict.REFUTED
