"""Claims about sizes alone: every size up to many thousands, and sums over ranges far longer than can be written out."""

from __future__ import annotations

import pytest

from attention_core.derivation import StepReport, check_document
from attention_core.derivation.records import Verdict


def step(declared: str, formula: str) -> StepReport:
    return check_document(f"{declared}\n\n$$ {formula} $$\n").steps[-1]


@pytest.mark.parametrize(
    "formula",
    [
        r"\cos n \ge -0.99999",  # n = 355
        r"\sin(n / 100) \ge -0.9999",  # n = 471
        r"\sum_{k=1}^n (-1)^k k \le 5000",  # n = 10002
        r"2^n > n^4 - 17000",  # n = 12
        r"\sum_{k=1}^n \frac{1}{k^2} \le 1.6449",  # n = 29355
        r"\sum_{k=1}^n \frac{1}{k^2} \le 1.644934",  # n beyond 10^7
        r"\sum_{k=1}^n \frac{1}{n + k} \le 0.6931",
    ],
)
def test_false_claims_about_a_size_are_refuted(formula: str) -> None:
    assert step(r"Let $n \in \mathbb{N}$.", formula).verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    "formula",
    [
        r"\sum_{k=1}^n \frac{1}{k^2} \le \frac{\pi^2}{6}",
        r"\sum_{k=1}^n \frac{1}{k^2} \le 1.644935",
        r"2^n > n^4 - 70000",
        r"(n - 777777)^2 + n > 5",
        r"\sum_{k=1}^n (-1)^k k \le n",
    ],
)
def test_true_ones_say_to_what_size_they_were_tried(formula: str) -> None:
    found = step(r"Let $n \in \mathbb{N}$.", formula)
    assert found.verdict in (Verdict.AGREES, Verdict.PROVED, Verdict.EXACT)
    if found.verdict is Verdict.AGREES:
        assert "up to n = 200000" in found.evidence.text


def test_hypotheses_among_sizes_and_indices_are_kept() -> None:
    declared = r"Let $n \in \mathbb{N}$ with $n \ne 355$ and $n \le 700$."
    assert step(declared, r"\cos n \ge -0.99999").verdict is Verdict.EXACT  # at each of the 699 values
    assert step(declared.replace("355", "354"), r"\cos n \ge -0.99999").verdict is Verdict.REFUTED
    declared = r"Let $n \in \mathbb{N}$ and $k \in \{1, \dots, n\}$."
    assert step(declared, r"(n - k + 1)(n - k) \ge 0").verdict is not Verdict.REFUTED


def test_few_sizes_do_not_settle_what_equations_tie() -> None:
    declared = (
        r"Let $n \in \mathbb{N}$ and $x, y \in \mathbb{R}^n$ with $\sum_{i=1}^n x_i = \sum_{i=1}^n y_i$ "
        r"and $\|x\|^2 = \|y\|^2$."
    )
    found = step(declared, r"\sum_{i=1}^n x_i^3 = \sum_{i=1}^n y_i^3")  # true at n <= 2, false above
    assert found.verdict is Verdict.REFUTED and "n = 3" in found.evidence.text


@pytest.mark.parametrize(
    "formula",
    [r"(A A)_{11} = \sum_{j=1}^n A_{1j} A_{j1}", r"(A^\top)_{12} = A_{21}", r"(A^2)_{11} = \sum_{j=1}^n A_{1j} A_{j1}"],
)
def test_two_digits_behind_brackets_are_two_indices(formula: str) -> None:
    declared = r"Let $n \in \mathbb{N}$ with $n \ge 2$ and $A \in \mathbb{R}^{n \times n}$."
    assert step(declared, formula).verdict in (Verdict.AGREES, Verdict.PROVED, Verdict.EXACT)


@pytest.mark.parametrize(
    ("declared", "formula"),
    [
        (r"Let $m, n \in \mathbb{N}$.", r"m^2 \ne 61 n^2 + 1"),  # 1766319049, 226153980
        (r"Let $m, n \in \mathbb{N}$.", r"m^2 \ne 109 n^2 + 1"),
        (r"Let $m, n \in \mathbb{N}$ with $n \ge 8$.", r"2^n \ne m^2 + 7"),
        (r"Let $m, k \in \mathbb{N}$ with $m \ge 2$.", r"\sum_{i=1}^m i^2 \ne k^2"),
        (r"Let $m, n \in \mathbb{N}$ with $n \ge 6$.", r"\prod_{k=1}^n k + 1 \ne m^2"),
        (r"Let $m, n \in \mathbb{N}$ with $m \ge 50$.", r"\frac{m (m + 1)}{2} \ne n^2"),
        (r"Let $n, m \in \mathbb{N}$.", r"|n - m^2| + |m - 37| > 0"),
    ],
)
def test_sides_that_meet_at_few_sizes_are_found(declared: str, formula: str) -> None:
    assert step(declared, formula).verdict is Verdict.REFUTED


@pytest.mark.parametrize("formula", [r"m^2 \ne 3 n^2 + 2", r"m^2 \ne 4 n + 3", r"m^2 + n^2 \ne 4 m n - 3 m^2 - 1"])
def test_sides_that_never_meet_agree(formula: str) -> None:
    assert step(r"Let $m, n \in \mathbb{N}$.", formula).verdict is Verdict.AGREES


def test_determinants_of_numbers_are_tried_at_larger_sizes() -> None:
    assert step(r"Let $n \in \mathbb{N}$.", r"\det(2 I_n) \le 300").verdict is Verdict.REFUTED


def test_sizes_that_float64_cannot_tell_are_not_said_to_agree() -> None:
    text = "Let $n \\in \\mathbb{N}$.\n\n$$ \\cos\\left(\\frac{2 \\pi n}{9973}\\right) < 1 $$\n"  # false at n = 9973
    (step,) = check_document(text).steps
    assert "up to n = 2000;" in step.evidence.text and "200000" not in step.evidence.text
    (step,) = check_document("Let $n \\in \\mathbb{N}$.\n\n$$ \\cos(n) + n < n + 2 $$\n").steps
    assert "all sizes, in floating point, up to n = 200000" in step.evidence.text
