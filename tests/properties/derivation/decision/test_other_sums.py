r"""Sums by another rule, shares of a whole, and percentages that are added or taken off."""

from __future__ import annotations

import pytest

from attention_core.derivation.check import check_document, document_steps
from attention_core.derivation.decision.calculations import Arithmetic
from attention_core.derivation.decision.other_sums import is_other_share, is_other_sum, is_sum_of_shares
from attention_core.derivation.reading.step import Step


def read(formula: str) -> Step:
    (step,) = document_steps(f"$$ {formula} $$\n", infer=True)[1]
    assert isinstance(step, Step)
    return step


@pytest.mark.parametrize(
    ("formula", "other"),
    [
        ("3 + 4 = 5", True),
        ("5 = 3 + 4", True),
        ("0.8 + 0.9 + 0.7 + 0.6 = 0.75", True),  # their mean
        ("0.3 + 0.4 + 1.2 + 0.1 = 1.30", True),  # independent errors
        ("8 + 8 + 4 + 4 = 1.33", True),  # resistors side by side
        (r"2 \times 60 = 63", True),  # two equal levels
        (r"3 \times 60 = 63", False),
        ("1 + 2 + 3 + 7 = 7", True),  # of nim
        ("1 + 2 + 3 + 7 = 9", False),
        ("12 + 25 + 31 + 33 = 100", False),
        (r"2 \times 60 + 1 = 3 \times 40", False),
        (r"28 \times 28 = 783", False),
        ("3 + 4 = 5 + 1", False),
    ],
)
def test_one_number_may_be_a_sum_of_another_kind(formula: str, other: bool) -> None:
    step = read(formula)
    assert is_other_sum(step.left, step.right) is other


@pytest.mark.parametrize(
    ("formula", "shares"),
    [
        (r"\frac{1}{2} + \frac{2}{3} = \frac{3}{5}", True),
        (r"81/87 + 192/263 = 273/350", True),
        (r"\frac{1}{2} + \frac{2}{3} = \frac{4}{5}", False),
        (r"\frac{1}{2} + 2 = \frac{3}{3}", False),
        (r"\frac{1}{2} \cdot \frac{2}{3} = \frac{3}{5}", False),
    ],
)
def test_tops_and_bottoms_are_added(formula: str, shares: bool) -> None:
    step = read(formula)
    assert is_sum_of_shares(step.left, step.right) is shares


@pytest.mark.parametrize(
    ("formula", "share"),
    [
        (r"0.9 \times 0.8 = 28\%", True),  # taken off
        (r"1.05^2 = 10.25\%", True),  # added
        (r"1.05^2 = 11.25\%", False),
        (r"0.9 \times 0.8 = 0.28", False),
        ("4/1 = 0.2", True),  # of odds
        (r"\frac{5}{2} = 0.286", True),
        (r"\frac{5}{2} = 0.4", False),
        (r"2 \times 2 = 0.2", False),  # no odds
    ],
)
def test_a_share_may_be_what_is_added_or_of_odds(formula: str, share: bool) -> None:
    step = read(formula)
    left, right = (Arithmetic().calculate(side) for side in (step.left, step.right))
    assert is_other_share(step, left, right) is share


@pytest.mark.parametrize("formula", [r"10^{400} = 28\%", r"28\% = 10^{400}"])
def test_a_number_beyond_floats_is_compared_as_a_fraction(formula: str) -> None:
    (step,) = check_document(f"Some frobnicated words.\n\n$$ {formula} $$\n", infer=True).steps
    assert step.verdict == "REFUTED", step.evidence.text
