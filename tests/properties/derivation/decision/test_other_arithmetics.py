r"""Numbers that are calculated with in another way: which false equations of numbers they can make good, and which not."""

from __future__ import annotations

import pytest

from attention_core.derivation.check import check_document, document_steps
from attention_core.derivation.decision.other_arithmetics import may_hold_otherwise
from attention_core.derivation.reading.step import Step

OTHERWISE = [
    "11 + 2 = 1",  # on a dial
    r"\frac{3}{4} + \frac{1}{2} = \frac{1}{4}",  # of a turn
    r"6 \times 9 = 42",  # in base 13
    "77 + 1 = 100",  # in base 8
    "3 + 4 = 5",  # of legs
    "60 + 60 = 63",  # of decibels
    "200 + 100 = 255",  # of what saturates
    r"5 \times 12 = 5",  # of dozens
    r"2 + 3 \times 4 = 20",  # from left to right
    r"3 \times 333 = 1000",  # rounded
    r"\frac{7}{2} = 3",  # cut off
    r"1.44 \times 0.6618 = 0.9521",
    r"\sqrt{2} \cdot \sqrt{3} = 3",  # of roots nothing is known
    "10^{10^{10^{10}}} = 3",  # too large
    r"\frac{1}{0} + 7 \cdot 8 = 2 + 3",
    r"\pi \approx 3",
    r"7 \cdot 8 \ge 4 \cdot 20",
]
NEVER = [
    r"28 \times 28 = 2 (784)",
    r"(20 \times 16) + 16 + (16 \times 1) + 1 = (320 + 16 + 16 + 1) + 1",
    r"(784 \times 128) + 129 + (128 \times 10) + 10 = 100352 + 128 + 1280 + 10",
    r"\frac{2}{5} \times \frac{3}{4} = \frac{3}{10} + 1",
    r"\frac{3}{4} \cdot \frac{2}{5} = \frac{1}{7}",
    r"\frac{1}{\sqrt{3}} \approx - 0.577",
    r"\log 2 \approx 2 \cdot 0.693",
]


def read(formula: str, words: str = "") -> Step:
    (step,) = document_steps(f"{words}\n\n$$ {formula} $$\n", infer=True)[1]
    assert isinstance(step, Step)
    return step


@pytest.mark.parametrize("formula", OTHERWISE)
def test_what_another_arithmetic_makes_good_may_hold(formula: str) -> None:
    assert may_hold_otherwise(read(formula))


@pytest.mark.parametrize("formula", NEVER)
def test_what_no_other_arithmetic_makes_good_is_false(formula: str) -> None:
    assert not may_hold_otherwise(read(formula))


def test_units_beside_a_step_may_make_a_factor_good() -> None:
    doubled = r"6 \times 7 + 1 = 2 (6 \times 7 + 1)"
    assert not may_hold_otherwise(read(doubled))
    assert may_hold_otherwise(read(doubled, "We count socks on the left, and pairs on the right."))


def test_what_its_author_denies_may_hold_otherwise() -> None:
    assert may_hold_otherwise(read(NEVER[0], "A common mistake is this:"))


@pytest.mark.parametrize(
    ("words", "formula", "verdict"),
    [
        ("All that follows is on the dial.", "11 + 2 = 1", "UNDECIDED"),
        ("All that follows is on the dial.", NEVER[0], "REFUTED"),
        ("Then the frobnicated layer has this many weights, and ten of them are digits.", NEVER[1], "REFUTED"),
        ("Here $784 = 0$.", NEVER[0], "UNDECIDED"),  # a relation of numbers counts, whatever it means
        ("The following is wrong:", NEVER[0], "UNDECIDED"),
    ],
)
def test_words_leave_numbers_open_where_another_arithmetic_may_be_meant(words: str, formula: str, verdict: str) -> None:
    assert str(check_document(f"{words}\n\n$$ {formula} $$\n", infer=True).steps[-1].verdict) == verdict
