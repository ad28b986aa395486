"""Letters that a document writes as arrays: bars around them need not be those of a number."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.document.blocks import Display
from attention_core.derivation.effort import Effort
from attention_core.derivation.reading.array_letters import array_letters
from attention_core.derivation.records import GOOD, DocumentReport, Verdict


def report_of(text: str) -> DocumentReport:
    return check_document(text, effort=Effort(seconds=3.0), infer=True)


@pytest.mark.parametrize(
    ("formula", "found"),
    [
        (r"x^\top y", ["x"]),
        (r"x_i + y_0", ["x"]),
        (r"\|x\| + \lVert y \rVert + \bar z", ["x", "y", "z"]),
        (r"x, y \in \mathbb{R}^n, z \in \mathbb{R}", ["x"]),
        (r"z \in \mathbb{C}", ["z"]),
        (r"x^2 + e^{-t}", []),
    ],
)
def test_letters(formula: str, found: list[str]) -> None:
    assert sorted(array_letters([Display(1, formula)])) == found


@pytest.mark.parametrize(
    ("words", "right", "wrong"),
    [
        ("Let $|x| < 1$.", r"\sum_{k=0}^\infty x^k = \frac{1}{1-x}", r"\sum_{k=0}^\infty x^k = \frac{x}{1-x}"),
        (r"For $|t| \le 1$ we have", r"t^2 \le 1", r"t^2 \le \frac12"),
        (
            r"For $|x| < 1$ the derivative is",
            r"\frac{d}{dx} \arcsin x = \frac{1}{\sqrt{1-x^2}}",
            r"\frac{d}{dx} \arcsin x = \frac{1}{\sqrt{1+x^2}}",
        ),
        (r"Let $0 < t < \pi/2$.", r"\sin t < t", r"\tan t < t"),
        ("Let $0 < r < 1$.", "r^2 < r", "r < r^2"),
        (r"Let $0 \le t \le 1$.", r"t^2 \le t", r"t \le t^2"),
    ],
)
def test_bounds_declare_numbers(words: str, right: str, wrong: str) -> None:
    for formula, holds in ((right, True), (wrong, False)):
        step = report_of(f"{words}\n\n$$ {formula} $$\n").steps[-1]
        assert step.verdict in GOOD if holds else step.verdict is Verdict.REFUTED, step.evidence.text


@pytest.mark.parametrize(
    ("words", "step"),
    [
        ("Let $|x| < 1$.", r"x_1^2 + x_2^2 < 2"),  # a vector
        ("Let $|A| < 1$.", r"A \le 2"),  # a determinant, or a set
        ("Let $|z| < 1$.", r"z \le 2"),  # in a disc
        (r"Let $0 \le k \le 1$.", r"k \le 2"),  # one of two
        (r"Let $1 \le k \le 5$.", r"k \le 6"),  # one of five
    ],
)
def test_others_are_not_declared(words: str, step: str) -> None:
    report = report_of(f"{words}\n\n$$ {step} $$\n")
    assert not [text for _, text in report.understood if text.endswith("is a number")]
    assert report.steps[-1].verdict is not Verdict.REFUTED


def test_a_condition_goes_on_to_the_display_right_below_alone() -> None:
    """It says what its letter is; words between two displays end it."""
    text = "For $0 < t < 1$:\n\n$$ t^2 < t $$\n\n$$ t^3 < t^2 $$\n\n{}$$ t < 1 $$\n"
    assert [step.verdict in GOOD for step in report_of(text.format("")).steps] == [True] * 3
    steps = report_of(text.format("Far more is true of all numbers.\n\n")).steps
    assert [step.verdict in GOOD for step in steps] == [True, True, False]


def test_a_condition_on_a_declared_number_is_that_of_one_display() -> None:
    text = "Let $t \\in \\mathbb{R}$.\n\nFor $0 < t < 1$:\n\n$$ t^2 < t $$\n\n$$ t^3 < t^2 $$\n"
    assert [step.verdict in GOOD for step in report_of(text).steps] == [True, False]
