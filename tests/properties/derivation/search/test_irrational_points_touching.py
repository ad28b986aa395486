"""Sides that may touch at irrational points alone: a step that denies it is UNDECIDED; one that is true still agrees."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import GOOD, StepReport, Verdict

REAL = r"Let $x \in \mathbb{R}$."
TWO = r"Let $x, y \in \mathbb{R}$."
POSITIVE = r"Let $x > 0$."


def only(declared: str, display: str) -> StepReport:
    (step,) = check_document(f"{declared}\n\n$$ {display} $$\n").steps
    return step


@pytest.mark.parametrize(
    ("declared", "display", "near"),
    [
        (TWO, "(x^2 - 2)^2 + (y^2 - 3)^2 > 0", "1.414213562"),
        (TWO, r"|x^2 - 2| + |y^2 - 3| \ne 0", "1.41421356"),
        (TWO, r"x^2 - 2 \sqrt{2} x y + 2 y^2 > 0", ""),
        (POSITIVE, r"x + \frac{3}{x} > 2 \sqrt{3}", "1.73205"),
        (POSITIVE, r"\log(x) < \frac{x}{e}", "2.71828"),
        (REAL, r"\sin(x) + \cos(x) < \sqrt{2}", ""),
    ],
)
def test_a_point_at_which_the_sides_may_meet_leaves_the_step_undecided(declared: str, display: str, near: str) -> None:
    step = only(declared, display)
    assert step.verdict is Verdict.UNDECIDED, step.evidence.text
    assert near in step.evidence.text and "come within" in step.evidence.text


@pytest.mark.parametrize(
    ("declared", "display"),
    [
        (REAL, r"\frac{1}{1 + e^{-x}} < 1"),
        (REAL, r"\log(1 + e^x) > x"),
        (REAL, "e^x > 0"),
        (POSITIVE, r"\sin(x) < x"),
        (r"Let $x > 0$ with $x \ne 1$.", r"\log(x) < x - 1"),
        (r"Let $x, y \in \mathbb{R}$ with $x \ne y$.", "x^2 + y^2 > 2 x y"),
        (r"Let $x \in \mathbb{R}$ with $0 < x < 1$.", "x^2 < x"),
        (REAL, "x^4 - 2 x^2 + 1.001 > 0"),
    ],
)
def test_sides_that_only_approach_each_other_or_meet_at_what_is_excluded_agree(declared: str, display: str) -> None:
    assert only(declared, display).verdict in GOOD
