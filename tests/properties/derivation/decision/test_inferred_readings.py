"""Undeclared symbols that have two readings: a step that holds by one of them is AMBIGUOUS, and says by which."""

from __future__ import annotations

import pytest

from attention_core.derivation import StepReport, check_document


def inferred(formula: str, declared: str = "") -> StepReport:
    (step,) = check_document(f"{declared}\n\n$$ {formula} $$\n", infer=True).steps
    return step


@pytest.mark.parametrize(
    ("formula", "reading"),
    [
        (r"\operatorname{softmax}(x + c) = \operatorname{softmax}(x)", r"with $c \in \mathbb{R}$"),
        (r"\nabla_x x^\top A x = x^\top (A + A^\top)", "with gradients of numbers as rows"),
    ],
)
def test_a_step_that_holds_in_another_reading_says_which(formula: str, reading: str) -> None:
    step = inferred(formula)
    assert step.verdict == "AMBIGUOUS" and step.evidence.text.startswith(f"it holds {reading}")
    assert "read as: " in step.evidence.text and step.evidence.figures["reading"].startswith(reading)


def test_what_is_false_in_every_reading_stays_open_with_its_point() -> None:
    step = inferred(r"\operatorname{softmax}(x + 2 c) = 2 \operatorname{softmax}(x)")
    assert step.verdict == "UNDECIDED" and step.evidence.text.startswith("as it was read it is false")


def test_a_declaration_leaves_one_reading() -> None:
    declared = r"Let $n \in \mathbb{N}$ and $x, c \in \mathbb{R}^n$."
    assert inferred(r"\operatorname{softmax}(x + c) = \operatorname{softmax}(x)", declared).verdict == "REFUTED"


def test_a_reading_that_the_formulas_ask_for_is_not_replaced() -> None:
    step = inferred(r"c^\top c + \operatorname{softmax}(x + c)_1 = c^\top c + \operatorname{softmax}(x)_1")
    assert step.verdict != "AMBIGUOUS", step.evidence.text  # a transpose says that c is a vector
