"""What a block quotation assumes is somebody else's assumption; boxes with a label are the author's."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.records import GOOD, Verdict


def verdict(paragraph: str, step: str) -> Verdict:
    text = f"Let $x \\in \\mathbb{{R}}$.\n\n{paragraph}\n\n$$ {step} $$\n"
    return check_document(text, effort=Effort(seconds=4.0)).steps[-1].verdict


@pytest.mark.parametrize("paragraph", ["> Suppose $x > 0$.", "> Assume that $x$ is positive.", "> For $x > 0$ we have"])
def test_a_quotation_assumes_nothing(paragraph: str) -> None:
    assert verdict(paragraph, "|x| = x") is Verdict.UNDECIDED
    assert verdict(paragraph, "x^2 \\ge 0") in GOOD


def test_what_is_false_beside_a_quotation_is_refuted() -> None:
    assert verdict("> Suppose $x > 0$.", "x = x + 1") is Verdict.REFUTED


@pytest.mark.parametrize(
    "paragraph", ["> **Assumption.** Suppose $x > 0$.", "> [!NOTE]\n> Suppose $x > 0$.", "Suppose $x > 0$."]
)
def test_a_box_with_a_label_assumes(paragraph: str) -> None:
    assert verdict(paragraph, "|x| = x") in GOOD
