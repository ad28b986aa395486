"""Words about derivatives: the layout that a document says is the one that its steps are read in."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.document.blocks import Block, Paragraph
from attention_core.derivation.elaborate.differentials import DIFFERENTIALS
from attention_core.derivation.elaborate.products import DENOMINATORS, ROW_GRADIENTS
from attention_core.derivation.reading.derivative_words import take_derivative_words
from attention_core.derivation.records import GOOD, Verdict

HEAD = r"Let $x \in \mathbb{R}^n$, $W \in \mathbb{R}^{m \times n}$, $u \in \mathbb{R}^m$ and $z = W x$."
JACOBIAN = r"\frac{\partial z}{\partial x} = W"
GRADIENT = r"\frac{\partial}{\partial x} (u^\top z) = W^\top u"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("We use the denominator layout.", {DENOMINATORS}),
        ("In the end it holds. Throughout, we work in numerator layout.", {ROW_GRADIENTS}),
        ("We use numerator layout throughout, so that the derivative of a scalar with respect to a column vector is a "
         "row vector.", {ROW_GRADIENTS}),
        ("All derivatives are written in denominator layout.", {DENOMINATORS}),
        ("We use the numerator layout. In the denominator layout it is transposed.", set()),
        ("Unlike in denominator layout, it is a row.", set()),
        ("In differentials,", {DIFFERENTIALS}),
        ("This differential equation is stiff.", set()),
    ],
)  # fmt: skip
def test_words(words: str, said: set[str]) -> None:
    blocks: list[Block] = [Paragraph(3, words)]
    assert take_derivative_words(blocks)[1] == said


def test_a_sentence_of_the_layout_is_no_hypothesis() -> None:
    (block,) = take_derivative_words([Paragraph(1, f"We use the denominator layout. {HEAD}")])[0]
    assert getattr(block, "text", "") == HEAD


@pytest.mark.parametrize(
    ("words", "right", "wrong"),
    [
        ("We use the denominator layout.", JACOBIAN + r"^\top", JACOBIAN),
        ("We use the numerator layout.", r"\frac{\partial}{\partial x} (u^\top z) = u^\top W", GRADIENT),
        ("", JACOBIAN, JACOBIAN + r"^\top"),
        ("", GRADIENT, r"\frac{\partial}{\partial x} (u^\top z) = u^\top W"),
    ],
)
def test_steps_are_read_in_the_layout_that_is_said(words: str, right: str, wrong: str) -> None:
    for step, good in ((right, True), (wrong, False)):
        (found,) = check_document(f"{words} {HEAD}\n\n$$ {step} $$\n", infer=True).steps
        assert (found.verdict in GOOD) is good and found.verdict is not Verdict.REFUTED, found.evidence.text
