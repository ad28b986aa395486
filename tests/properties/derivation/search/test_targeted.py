"""The directed search for counterexamples.

Wrong statements that fail only where small random numbers never are, each beside the right one it resembles.
The counterexamples are exact: every value of them is evaluated again by hand where that is short.
"""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.records import StepReport

GOOD = {"PROVED", "EXACT", "AGREES"}
PATIENT = Effort(seconds=60.0)
X = r"Let $x \in \mathbb{R}$."
CIRCLE = r"Let $a, b \in \mathbb{R}$ with $a^2 + b^2 = 1$."
S = r"Let $n \in \mathbb{N}$, $s \in \mathbb{R}^n$."
ATTENTION = r"Let $n \in \mathbb{N}$, $A \in \mathbb{R}^{n \times n}$, $v \in \mathbb{R}^n$."
SIMPLEX = r"Let $n \in \mathbb{N}$, $p \in \mathbb{R}^n$ with $p_i \ge 0$ for all $i$ and $\sum_{i=1}^n p_i = 1$."
BOUNDED = (
    r"Let $n, d \in \mathbb{N}$, $R > 0$, $q \in \mathbb{R}^d$, $k_1, \dots, k_n \in \mathbb{R}^d$, $i \in \{1, \dots, n\}$ "
    r"with $\|q\| \le R$ and $\|k_j\| \le R$ for all $j$. Put $s_j := q^\top k_j / \sqrt{d}$."
)
SHARE = r"\frac{e^{s_i}}{\sum_{j=1}^n e^{s_j}}"

PAIRS = [
    (X, r"x^2 \ge x - 1000", r"x \le 1000"),
    (X, r"x^2 \ne -37", r"x \ne 37"),
    (X, r"(x - 47)(x - 48) \ge -\frac14", r"(x - 47)(x - 48) \ge 0"),
    (X, r"e^x \ge -10^{-100}", r"e^x > 10^{-100}"),
    (X, r"x^2 - 3.1416 x + 2.46741265 > 0", r"x^2 - 3.1416 x + 2.46741264 > 0"),
    (X, r"\frac{x}{1 + e^{-x}} \ge -0.27847", r"\frac{x}{1 + e^{-x}} \ge -0.278"),
    (X, r"\max(x, 1000) \ge 1000", r"\max(x, 1000) = 1000"),
    (CIRCLE, r"a + b \le 1.41422", r"a + b \le 1.3"),
    (S, r"\max_i |s_i| \le \|s\|", r"\max_i |s_i| \le 2.9 \sqrt{\frac{1}{n} \sum_{i=1}^n s_i^2}"),
    (ATTENTION, r"\|\operatorname{softmax}(A) v\|_\infty \le \|v\|", r"\|\operatorname{softmax}(A) v\| \le 2 \|v\|"),
    (SIMPLEX, r"\sum_{i=1}^n p_i^2 \le 1", r"\sum_{i=1}^n p_i^2 \le \frac{10}{n}"),
    (BOUNDED, rf"{SHARE} \le \frac{{1}}{{n}} e^{{2 R^2 / \sqrt{{d}}}}", rf"{SHARE} \le \frac{{1}}{{n}} e^{{R^2 / \sqrt{{d}}}}"),
]  # fmt: skip


def checked(declared: str, formula: str) -> StepReport:
    (step,) = check_document(f"{declared}\n\n$$ {formula} $$\n", effort=PATIENT).steps
    return step


@pytest.mark.thorough(leave_out=("declared11-*",))
@pytest.mark.parametrize(("declared", "right", "wrong"), PAIRS)
def test_what_fails_only_at_special_values_is_refuted_there(declared: str, right: str, wrong: str) -> None:
    step = checked(declared, wrong)
    assert step.verdict == "REFUTED" and step.counterexample is not None, step.evidence.text
    step = checked(declared, right)
    assert step.verdict in GOOD, step.evidence.text


def test_sizes_that_an_inequation_names_are_tried() -> None:
    step = checked(r"Let $n \in \mathbb{N}$.", r"n^2 + n + 41 \ne 1681")
    assert step.counterexample is not None and step.counterexample.values == {"n": 40}


def test_the_turning_points_of_a_polynomial_are_exact_where_they_are_rational() -> None:
    step = checked(X, r"(3 x - 7)^2 (x^2 + 1) > 0")
    assert step.counterexample is not None and step.counterexample.values == {"x": "7/3"}


def test_a_hypothesis_about_another_number_is_met_at_a_root() -> None:
    """A guess that one number is the other leaves one free, and the other has a value all the same."""
    words = "Let $x, y \\in \\mathbb{R}$.\n\nAssume that $x$ and $y$ are not equal."
    (found,) = check_document(f"{words}\n\n$$ (x - y)^2 < 0 $$\n").steps
    assert "internal error" not in found.evidence.text and found.verdict == "REFUTED"
