"""Equations of two versions of one quantity are not refuted: a divisor n or n - 1, entries from 0 or from 1."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import Verdict


def verdict(formula: str, above: str = "We have", as_read: bool = True) -> Verdict:
    return check_document(f"{above}\n\n$$ {formula} $$\n", infer=True, as_read=as_read).steps[-1].verdict


SQUARES = r"\sum_{i=1}^n (x_i - m)^2"
PAIRS = [
    (rf"\frac{{1}}{{n}} {SQUARES} = \frac{{1}}{{n-1}} {SQUARES}", rf"\frac{{2}}{{n}} {SQUARES} = \frac{{3}}{{n}} {SQUARES}"),
    (r"\frac{1}{N} X^\top X = \frac{1}{N - 1} X^\top X", r"\frac{1}{N} (x + y) = \frac{1}{N} x + \frac{3}{N} y"),
    (r"\frac{b - a}{n} = \frac{b - a}{n - 1}", r"\frac{b - a}{n} = \frac{b}{n} - \frac{2 a}{n}"),
    (r"\frac{1}{n} \sum_{i=1}^n x_i = \frac{1}{n-1} \sum_{i=1}^{n-1} x_i", r"\frac{1}{n} \sum_{i=1}^n x_i = \frac{1}{n} \sum_{i=1}^{n-1} x_i"),
    (r"\sum_{t=1}^{T} (x_t + c) = \sum_{t=0}^{T-1} x_t + T c", r"\sum_{t=1}^{T} (x_t + c) = \sum_{t=0}^{T-1} x_t + 2 T c"),
]  # fmt: skip


@pytest.mark.parametrize(("right", "wrong"), PAIRS, ids=range(len(PAIRS)))
def test_two_versions_stay_open(right: str, wrong: str) -> None:
    assert verdict(right) is verdict(right, as_read=False) is Verdict.UNDECIDED
    assert verdict(wrong) is Verdict.REFUTED


def test_words_about_the_divisor_leave_a_calculation_open() -> None:
    formula = r"\frac{1}{n} \sum_{i=1}^n (x_i - c)^2 = \frac{1}{n-1} \left( \sum_{i=1}^n x_i^2 - 2 c \sum_{i=1}^n x_i + n c^2 \right)"
    assert verdict(formula, "The unbiased estimate of the variance is") is Verdict.UNDECIDED
    assert verdict(formula, "Expanding the square, we get") is Verdict.REFUTED


def test_a_promise_of_formulas_leaves_no_other_version() -> None:
    text = f"All hypotheses are declared as formulas.\n\n$$ {PAIRS[0][0]} $$\n"
    assert check_document(text, infer=True).steps[-1].verdict is Verdict.REFUTED


def test_equal_entries_at_the_ends_are_said_and_not_calculated() -> None:
    sums = "\n\n$$ \\sum_{i=1}^N u_i^2 = \\sum_{i=0}^{N-1} u_i^2 + u_N^2 - u_0^2 $$"
    assert (
        check_document(f"The ends are fixed:\n\n$$ u_0 = u_N = 0 $$ {sums}\n", as_read=True).steps[0].verdict
        is Verdict.UNDECIDED
    )
    wrong = f"We find\n\n$$ u_0 + c = u_N + c $$ {sums}\n"
    assert check_document(wrong, as_read=True).steps[0].verdict is Verdict.REFUTED
