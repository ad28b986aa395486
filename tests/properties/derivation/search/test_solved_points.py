"""Claims that hold only in the special cases that are easily built: Newton's method finds others, and proves most."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import GOOD, StepReport, Verdict

MATRICES = r"Let $n \in \mathbb{N}$ and $A, B \in \mathbb{R}^{n \times n}$ with "


def last_step(declared: str, formula: str) -> StepReport:
    """The step of a document of one declaration and one display."""
    return check_document(f"{declared}\n\n$$ {formula} $$\n").steps[-1]


SPECIAL = {
    "eigenvectors": (
        r"Let $A \in \mathbb{R}^{2 \times 2}$, $x, y \in \mathbb{R}^2$ and $\lambda, \mu \in \mathbb{R}$ with "
        r"$A x = \lambda x$, $A y = \mu y$ and $\lambda \ne \mu$.", r"x^\top y = 0"),
    "projections": (MATRICES + r"$A^2 = A = A^\top$ and $B^2 = B = B^\top$.", "A B = B A"),
    "product": (MATRICES + r"$A^2 = A$, $B^2 = B$ and $A B = 0$.", "B A = 0"),
    "one_size": (MATRICES + r"$A B = I_n$ and $A^2 = B^2$.", "A = B"),
    "two_sums": (
        r"Let $p \in \mathbb{R}^3$ with $\sum_i p_i = 1$ and $\sum_i p_i^2 = 1$.", "p_1 p_2 = 0"),
    "cubes": (r"Let $x, y \in \mathbb{R}$ with $x^3 + y^3 = 2$.", "x = y"),
    "bounded": (
        r"Let $n \in \mathbb{N}$, $n \ge 2$, and $p \in \mathbb{R}^n$ with $p_i > 0$ for $i \in [n]$, "
        r"$\sum_i p_i = 1$ and $\sum_i p_i^2 = \frac{1}{2}$.", r"p_1 = \frac{1}{2}"),
}  # fmt: skip


DEPENDENT = {"projections", "product", "one_size"}  # whose equations depend on one another at every solution


@pytest.mark.parametrize("name", SPECIAL)
def test_what_holds_in_special_cases_alone_is_not_accepted(name: str) -> None:
    step = last_step(*SPECIAL[name])
    if name in DEPENDENT:
        assert step.verdict is Verdict.UNDECIDED, step.evidence.text
        assert "Newton's method finds values" in step.evidence.text
    else:
        assert step.verdict is Verdict.REFUTED, step.evidence.text


def test_a_rational_solution_is_shown_as_fractions() -> None:
    step = last_step(*SPECIAL["eigenvectors"])
    assert step.counterexample is not None
    assert "." not in str(step.counterexample.values), step.evidence.text


TRUE = {
    "symmetric": (
        r"Let $n \in \mathbb{N}$, $A \in \mathbb{R}^{n \times n}$ with $A = A^\top$, $x, y \in \mathbb{R}^n$ and "
        r"$\lambda, \mu \in \mathbb{R}$ with $A x = \lambda x$, $A y = \mu y$ and $\lambda \ne \mu$.", r"x^\top y = 0"),
    "double_root": (r"Let $x, y \in \mathbb{R}$ with $(x - y)^2 = 0$.", "x = y"),
    "cubes": (r"Let $x, y \in \mathbb{R}$ with $x^3 = y^3$.", "x = y"),
    "inverse": (MATRICES + "$A B = I_n$.", "B A = I_n"),
    "simplex": (r"Let $p \in \mathbb{R}^3$ with $p_i \ge 0$ for $i \in [3]$ and $\sum_i p_i = 1$.", r"\sum_i p_i^2 \le 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", TRUE)
def test_what_is_true_of_all_solutions_is_accepted_as_before(name: str) -> None:
    step = last_step(*TRUE[name])
    assert step.verdict in GOOD, step.evidence.text


def test_a_claim_about_sizes_is_open_where_no_case_was_built() -> None:
    declared = (
        r"Let $n, d \in \mathbb{N}$ and $v_1, \dots, v_n \in \mathbb{R}^d$ with $\|v_i\| = 1$ and $v_i^\top v_j \le 0$ "
        r"for $i \ne j$."
    )
    assert last_step(declared, r"n \le d + 1").verdict is Verdict.UNDECIDED  # false at n = 4, d = 2
    room = declared.replace(r"v_i^\top v_j \le 0", r"v_i^\top v_j = 0")
    assert last_step(room, r"n \le d").verdict in GOOD  # ruled out: more orthonormal vectors than dimensions


STANDARD = (
    r"Let $n \in \mathbb{N}$ and $x \in \mathbb{R}^n$ with $\frac{1}{n} \sum_i x_i = 0$ and "
    r"$\frac{1}{n} \sum_i x_i^2 = 1$."
)


@pytest.mark.parametrize("formula", [r"|x_1| \le 2", r"\sum_i x_i^4 \le 4 n"])
def test_a_bound_that_fails_at_the_tightest_solution_of_a_larger_size_is_refuted(formula: str) -> None:
    step = last_step(STANDARD, formula)
    assert step.verdict is Verdict.REFUTED, step.evidence.text
    assert step.counterexample is not None and step.counterexample.values["n"] >= 6


@pytest.mark.parametrize("formula", [r"|x_1| \le \sqrt{n}", r"\sum_i x_i^4 \ge n"])
def test_a_bound_that_the_tightest_solutions_meet_is_accepted(formula: str) -> None:
    assert last_step(STANDARD, formula).verdict in GOOD


def test_an_equation_that_fails_with_five_entries_is_refuted() -> None:
    declared = r"Let $n \in \mathbb{N}$ and $x \in \mathbb{R}^n$ with $\sum_i x_i = 0$ and $\sum_i x_i^3 = 0$."
    assert last_step(declared, r"\sum_i x_i^5 = 0").verdict is Verdict.REFUTED  # up to four the entries cancel in pairs
