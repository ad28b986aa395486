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
    r"7 / 2 \times 2 = 6",
    r"\frac{7}{2} + \frac{7}{2} = 6",
    r"2^3 + 2^2 + 1 = 1101",  # binary on the right alone
    r"4 \times 0.45 = 3.00",  # hours and minutes
    r"3 \times 400 + 50 = 1.250",  # a point between thousands
    r"3 \times 4 + 2 = 18",  # from right to left
    r"2.998 \times 10^8 / 500 \times 10^{-9} = 6 \times 10^{14}",  # all that follows is below the slash
    r"80 + 20\% + 5\% = 100.8",  # as a pocket calculator adds percentages
    r"\frac{100}{3} + \frac{200}{7} = 33 + 29",  # each rounded
    r"1.6 \times 10^{-19} \times 6.02 \times 10^{23} = 9.65 \times 10^4",
    "2^{30} = 10^9",
    r"1 = 7 \cdot 8",  # modulo 11
    r"\frac{1}{7} = 8",
    r"\frac{1}{2} + \frac{2}{3} = \frac{3}{5}",  # of the hits
    "13 = 1101",
    r"0.9 \times 0.8 = 28\%",
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
    r"7 \times 2 = 6 + 9",
    r"\frac{100}{4} + \frac{200}{5} = 33 + 33",  # nothing is rounded
    r"\frac{7}{2} + \frac{1}{2} = \frac{6}{2}",  # what is cut off is not divided
    r"\frac{1}{2} + \frac{2}{3} = \frac{3}{6}",
    r"2^3 + 2^2 + 1 = 1102",
    r"4 \times 0.45 = 3.30",
    r"3 \times 400 + 50 = 1.350",
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


def test_words_that_lead_to_several_displays_name_the_units_of_all() -> None:
    words = "We count socks on the left, and pairs on the right."
    text = f"{words}\n\n$$ 2 = 1 + 1 $$\n\n$$ 4 = 2 + 2 $$\n\n$$ 6 \\times 7 + 1 = 2 (6 \\times 7 + 1) $$\n"
    far = text.replace("$$ 4", "Then four:\n\n$$ 4")
    assert [may_hold_otherwise(document_steps(one, infer=True)[1][-1]) for one in (text, far)] == [True, False]


@pytest.mark.parametrize(
    ("words", "formula", "open_"),
    [
        ("Roughly,", r"60 \times 60 \times 25 = 11 \cdot 9000", True),
        ("Here,", r"60 \times 60 \times 25 = 11 \cdot 9000", False),
        ("Totals are rounded.", "1234 + 2345 + 3456 + 101 = 7135", True),
        ("Totals are exact.", "1234 + 2345 + 3456 + 101 = 7135", False),
        ("Totals are rounded.\n\nWe count people.\n\nThen", "1234 + 2345 + 3456 + 101 = 7135", True),
        ("Totals are rounded.\n\nWe count people.\n\nThen", "1234 + 2345 + 3456 + 101 = 7145", False),
    ],
)
def test_words_of_rounding_leave_open_what_is_near(words: str, formula: str, open_: bool) -> None:
    assert may_hold_otherwise(read(formula, words)) is open_


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
