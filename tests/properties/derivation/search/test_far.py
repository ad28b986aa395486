"""The search at values of extreme size.

What fails only far out: at huge numbers, next to the ends of an interval, next to 0.
"""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.search.far import Power

REAL, POSITIVE, UNIT = r"$x \in \mathbb{R}$", r"$x > 0$", r"$p \in (0, 1)$"
FALSE = [
    (REAL, r"\log(1+e^x) \le 1000"),
    (REAL, r"x \le 10^{308}"),
    (REAL, r"x^2 \le 10^{620}"),
    (REAL, r"x \ge -10^{100}"),
    (REAL, r"e^x > 10^{-1000}"),
    (REAL, r"e^{x} \le 10^{5000}"),
    (REAL, r"\log(1 + x^2) \le 60"),
    (REAL, r"\log(1 + \log(1 + x^2)) \le 12"),
    (REAL, r"\max(x, 10^{30}) = 10^{30}"),
    (POSITIVE, r"\log x \le 10000"),
    (POSITIVE, r"-\log x \le 10000"),
    (POSITIVE, r"\frac{1}{x} \le 10^{400}"),
    (POSITIVE, r"x \ge 10^{-500}"),
    (POSITIVE, r"1 + x \ge 1 + 10^{-20}"),
    (UNIT, r"-\log p \le 800"),
    (UNIT, r"-\log(1 - p) \le 800"),
    (UNIT, r"\frac{1}{1-p} \le 10^{50}"),
    (UNIT, r"\log p - \log(1 - p) \le 500"),
    (r"$a, b > 0$", r"\log \frac{a}{b} \le 1000"),
    (r"$n \in \mathbb{N}$, $x \in \mathbb{R}^n$", r"\log \sum_{i=1}^n e^{x_i} \le 2000"),
    (r"$s > 0$, $X \sim \mathcal{N}(0, s^2)$", r"\operatorname{Var}[X] \le 10^{12}"),
]
TRUE = [
    (REAL, r"\log(1+e^x) \le 1000 + |x|"),
    (REAL, r"\log(1 + e^{x}) > x"),
    (REAL, r"\frac{x^2}{1 + x^2} < 1"),
    (REAL, r"\sqrt{1 + x^2} > |x|"),
    (r"$x \in [-10^{310}, 10^{310}]$", r"x^2 \le 10^{620}"),
    (POSITIVE, r"\log x \le x"),
    (r"$x \ge 10^{-400}$", r"\frac{1}{x} \le 10^{400}"),
    (UNIT, r"p (1-p) \le \frac{1}{4}"),
]


def verdict(declared: str, display: str) -> tuple[str, str]:
    (step,) = check_document(f"Let {declared}.\n\n$$ {display} $$\n").steps
    return str(step.verdict), step.evidence.text


@pytest.mark.parametrize(("declared", "display"), FALSE)
def test_what_fails_far_out_is_refuted(declared: str, display: str) -> None:
    found, said = verdict(declared, display)
    assert found == "REFUTED", said
    assert len(said) < 400


@pytest.mark.parametrize(("declared", "display"), TRUE)
def test_what_holds_far_out_is_not(declared: str, display: str) -> None:
    found, said = verdict(declared, display)
    assert found in ("PROVED", "EXACT", "AGREES"), said


def test_powers_are_shown_as_they_are_written() -> None:
    assert str(Power(60_000)) == "2^60000"
    assert str(Power(-60_000, -1)) == "-2^-60000"
    assert str(Power(2**1_000)) == "2^(2^1000)"
