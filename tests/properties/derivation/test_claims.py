r"""A number with printed decimals behind \approx claims half a unit in the last place."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import Verdict


def verdict_of(step: str) -> Verdict:
    return check_document(f"Let $x \\in \\mathbb{{R}}$.\n\n$$ {step} $$\n").steps[-1].verdict


@pytest.mark.parametrize(
    ("step", "verdict"),
    [
        (r"\sqrt{2} \approx 1.41421", Verdict.EXACT),
        (r"\frac{2}{3} \approx 0.67", Verdict.EXACT),
        (r"\frac{1}{3000} \approx 3.33 \times 10^{-4}", Verdict.EXACT),
        (r"\sqrt{2} \approx 1.41422", Verdict.REFUTED),
        (r"\frac{1}{128} \approx 0.78 \%", Verdict.EXACT),
        (r"\frac{1}{128} \approx 0.79\%", Verdict.REFUTED),
        (r"\pi \approx 3.15", Verdict.REFUTED),
        (r"-\pi \approx -3.1415", Verdict.AMBIGUOUS),
        (r"2^{10} \approx 1000", Verdict.UNDECIDED),
        (r"x \approx 0.5", Verdict.UNDECIDED),
    ],
)
def test_printed_decimals_say_how_close(step: str, verdict: Verdict) -> None:
    assert verdict_of(step) is verdict


@pytest.mark.parametrize(
    ("formula", "verdict"),
    [
        (r"\frac{2}{3} = 0.667", Verdict.AMBIGUOUS),
        (r"\frac{2}{3} = 0.66", Verdict.AMBIGUOUS),  # cut off
        (r"0.67 = \frac{2}{3}", Verdict.AMBIGUOUS),
        (r"10^{-3} \cdot \frac{1}{3} = 3.33 \times 10^{-4}", Verdict.AMBIGUOUS),
        (r"\frac{2}{3} = 0.65", Verdict.REFUTED),
        (r"\frac{1}{128} = 0.78 \%", Verdict.AMBIGUOUS),
        (r"\frac{1}{128} = 0.79\%", Verdict.REFUTED),
        (r"\frac{1}{3} = 33\%", Verdict.AMBIGUOUS),
        (r"\frac{1}{3} = 34\%", Verdict.REFUTED),
        (r"12 \cdot 12 \cdot 768^2 = 85 \times 10^6", Verdict.AMBIGUOUS),
        (r"12 \cdot 12 \cdot 768^2 = 84 \times 10^6", Verdict.REFUTED),
        (r"2^{32} = 4 \cdot 10^{9}", Verdict.AMBIGUOUS),
        (r"\frac{1}{4} = 0.25", Verdict.PROVED),
        (r"\sqrt{2} = 1", Verdict.REFUTED),  # no decimals are printed
        (r"\frac{2}{3} = 0.67 + 0", Verdict.REFUTED),  # a number that is calculated with
    ],
)
def test_an_equation_with_a_decimal_number_may_be_meant_of_rounded_numbers(formula: str, verdict: Verdict) -> None:
    (step,) = check_document(f"$$ {formula} $$\n").steps
    assert step.verdict is verdict
    assert (r"\approx" in step.evidence.advice) == (verdict is Verdict.AMBIGUOUS)


def test_a_decimal_number_beside_symbols_is_not_rounded() -> None:
    (step,) = check_document("Let $x \\in \\mathbb{R}$.\n\n$$ x - x + \\frac{2}{3} = 0.667 $$\n").steps
    assert step.verdict is Verdict.REFUTED


def test_a_percentage_beside_symbols_is_not_rounded() -> None:
    (step,) = check_document("Let $x \\in \\mathbb{R}$.\n\n$$ x - x + \\frac{1}{3} = 33\\% $$\n").steps
    assert step.verdict is Verdict.REFUTED


def test_an_expected_refutation_of_a_decimal_number_stands() -> None:
    (step,) = check_document("% expect: refuted\n$$ \\frac{2}{3} = 0.667 $$\n").steps
    assert step.verdict is Verdict.REFUTED
