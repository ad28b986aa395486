"""Sizes as numbers, and how far they are tried.

Statements about sizes: what fails at a size beyond the small ones is refuted, what is right stays accepted.
EXACT and PROVED are given only where all sizes are settled; conditions that nothing satisfies are VACUOUS.
"""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.claims import claim_of
from attention_core.derivation.proofs.size_degree import enough_sizes, polynomial_degree
from attention_core.derivation.reading.step import Step
from attention_core.derivation.reading.steps import steps_of
from attention_core.derivation.records import StepReport

N = r"Let $n \in \mathbb{N}$."
TWO = r"Let $n, d \in \mathbb{N}$, $n \ge 2$."
TEN = r"Let $n \in \mathbb{N}$, $n \ge 10$, $x \in \mathbb{R}^n$."
BALL = r"Let $n \in \mathbb{N}$, $x \in \mathbb{R}^n$ with $\|x\| \le 1$."
VECTOR = r"Let $n \in \mathbb{N}$, $x \in \mathbb{R}^n$."
TENFOLD = "".join(f"(n-{k})" for k in range(1, 11))

FALSE = [
    (N, r"n \le 6", 7),
    (N, r"n \le 40", 41),
    (N, r"n^2 \le 6 n", 7),
    (N, r"\sum_{i=1}^n \frac{1}{i} \le \frac52", 7),
    (N, r"(1 + \frac1n)^n \le \frac{254}{100}", 7),
    (N, r"\log n < 2", 8),
    (N, r"n^2 < 1000", 32),
    (N, r"n < 100", 100),
    (N, r"n < 999999", 999_999),
    (N, r"n^2 \ne 10000", 100),
    (N, rf"\sum_{{i=1}}^n i = \frac{{n(n+1)}}{{2}} + {TENFOLD}", 11),
    (BALL, r"\sum_{i=1}^n |x_i| \le \frac52", 8),
    (TWO, r"n^2 d \le 7 n d^2", 8),
    (TEN, r"n \le 12", 13),
    (TEN, r"(n-10)(n-11)(n-12) x = 0", 13),
    (VECTOR, rf"\nabla_x \tfrac12 \|x\|^2 {TENFOLD} = 0", 11),
    (VECTOR, r"\operatorname{tr}(I_n) \le 40", 41),
]

TRUE = [
    (N, r"n \le n^2", "PROVED"),
    (N, r"n < n + 1", "PROVED"),
    (TWO, r"n d \le n^2 d^2", "PROVED"),
    (TWO, r"n - 1 \ge 1", "PROVED"),
    (VECTOR, r"n + \sum_{i=1}^n x_i^2 \ge 1", "PROVED"),
    (N, r"\sum_{i=1}^n i = \frac{n(n+1)}{2}", "EXACT"),
    (N, r"\sum_{i=1}^n i^3 = \frac{n^2 (n+1)^2}{4}", "EXACT"),
    (N, r"\log n \le n", "AGREES"),
    (N, r"\sum_{i=1}^n \frac1i \le 1 + \log n", "AGREES"),
    (N, r"(1 + \frac1n)^n \le 3", "AGREES"),
    (N, r"2^n \ge n + 1", "AGREES"),
    (BALL, r"\sum_{i=1}^n |x_i| \le \sqrt{n}", "AGREES"),
    (VECTOR, r"\left(\sum_{i=1}^n x_i\right)^2 \le n \sum_{i=1}^n x_i^2", "AGREES"),
]


def checked(declared: str, formula: str, assumed: str = "") -> StepReport:
    option = f"% assume: {assumed}\n" if assumed else ""
    (step,) = check_document(f"{declared}\n\n{option}$$ {formula} $$\n").steps
    return step


@pytest.mark.parametrize(("declared", "formula", "size"), FALSE)
def test_what_fails_at_a_larger_size_is_refuted_there(declared: str, formula: str, size: int) -> None:
    step = checked(declared, formula)
    assert step.verdict == "REFUTED", step.evidence.text
    assert step.counterexample is not None and step.counterexample.values["n"] == size


@pytest.mark.parametrize(("declared", "formula", "verdict"), TRUE)
def test_right_statements_stay_accepted(declared: str, formula: str, verdict: str) -> None:
    step = checked(declared, formula)
    assert step.verdict == verdict, step.evidence.text


def test_agreement_says_how_far_sizes_were_tried() -> None:
    step = checked(N, r"\log n \le n")
    assert step.evidence.figures["reached"]["n"] >= 10**6
    assert "up to n = 1" in step.evidence.text


def test_an_equation_is_exact_only_at_enough_sizes_for_its_degree() -> None:
    text = rf"{VECTOR}" + "\n\n" + r"$$ (n-1)(n-2)(n-3) x = 0 $$" + "\n"
    (step,) = [s for s in steps_of(text)[0] if isinstance(s, Step)]
    context, claim, _ = claim_of(step)
    assert enough_sizes(context, claim) == 4
    for formula in (r"2^n x = x", r"\log(n) x = x", r"\sum_{i=1}^n \frac{1}{i} = 1"):
        (step,) = [s for s in steps_of(f"{VECTOR}\n\n$$ {formula} $$\n")[0] if isinstance(s, Step)]
        context, claim, _ = claim_of(step)
        assert enough_sizes(context, claim) is None


@pytest.mark.parametrize(
    ("declared", "formula", "assumed", "verdict"),
    [
        (r"Let $n \in \mathbb{N}$, $n \ge 100$, $x \in \mathbb{R}^n$.", r"\|x\|^2 \ge 0", "", "PROVED"),
        (r"Let $n, d \in \mathbb{N}$, $n, d \ge 64$, $X \in \mathbb{R}^{n \times d}$.", r"(X^\top)^\top = X", "", "PROVED"),
        (r"Let $n \in \mathbb{N}$, $n \ge 100$.", r"n \ge 101", "", "REFUTED"),
        (N, r"n^2 \ge 50 n", r"n \ge 50", "PROVED"),
        (N, r"n \le 14", r"n \ge 12", "REFUTED"),
        (TWO, r"n \ge 30", r"n \ge d + 30", "PROVED"),
    ],
)  # fmt: skip
def test_sizes_start_where_the_document_says(declared: str, formula: str, assumed: str, verdict: str) -> None:
    step = checked(declared, formula, assumed)
    if verdict == "PROVED":
        assert step.verdict in ("PROVED", "AGREES"), step.evidence.text
    else:
        assert step.verdict == verdict, step.evidence.text


@pytest.mark.parametrize(
    ("declared", "formula"),
    [
        (r"Let $n \in \mathbb{N}$, $n \ge 5$, $n \le 3$.", r"n = n"),
        (r"Let $n, d \in \mathbb{N}$, $n > d$, $d > n$.", r"n = d"),
        (r"Let $n \in \mathbb{N}$, $2 n = 7$.", r"n = n"),
        (r"Let $n \in \mathbb{N}$, $u \in \mathbb{R}^n$ with $\|u\| = 1$ and $\|u\| = 2$.", r"u = 0"),
    ],
)
def test_conditions_that_nothing_satisfies_are_vacuous(declared: str, formula: str) -> None:
    step = checked(declared, formula)
    assert step.verdict == "VACUOUS", step.evidence.text


OFFSETS = (
    r"Let $n \in \mathbb{N}$, $A \in \mathbb{R}^{n \times n}$, $x, y \in \mathbb{R}^n$ and $i, j \in \{1, \dots, n\}$."
)


@pytest.mark.parametrize(
    "formula",
    [
        r"\mathbf{1}[i = j + 7] A_{ij} = 0",
        r"\mathbf{1}[i = j + 12] A_{ij} = 0",
        r"\sum_{k=1}^n \delta_{k,400} x_k = 0",
        r"\sum_{k=1}^n \mathbf{1}[k \ne 400] x_k y_k = x^\top y",
        r"\sum_{k=1}^n \mathbf{1}[k \le 1500] x_k^2 = \|x\|^2",
        r"\mathbf{1}[i > j + 20] x_i = x_i \mathbf{1}[i > j + 30]",
        r"\sum_{k=400}^n x_k = 0",
    ],
)
def test_what_holds_only_below_a_number_in_a_condition_is_refuted_just_beyond_it(formula: str) -> None:
    """All of them hold at the small sizes that settle an equation without conditions."""
    (step,) = check_document(f"{OFFSETS}\n\n$$ {formula} $$\n").steps
    assert step.verdict == "REFUTED", step.evidence.text


@pytest.mark.parametrize(
    ("formula", "verdict"),
    [
        (r"\sum_{k=1}^n \mathbf{1}[k \ge 2] x_k = \sum_{k=2}^n x_k", "EXACT"),
        (r"\sum_{k=1}^n \mathbf{1}[k \ge 60] x_k = \sum_{k=60}^n x_k", "AGREES"),
    ],
)
def test_a_far_number_in_a_condition_asks_for_as_many_sizes(formula: str, verdict: str) -> None:
    (step,) = check_document(f"{OFFSETS}\n\n$$ {formula} $$\n").steps
    assert step.verdict == verdict, step.evidence.text


def test_both_sides_have_a_degree_as_polynomials_only_where_nothing_else_grows() -> None:
    declared = r"Let $n \in \mathbb{N}$ and $q, k \sim \mathcal{N}(0, I_n)$ independent."
    expected = {
        r"\mathbb{E} (q^\top k)^4 = n": 4,
        r"\mathbb{E} \|q\|^4 = n": 2,
        r"\mathbb{E} \|q\| = n": None,
        r"\mathbb{E} q_1^2 = \frac{1}{n}": None,
        r"\mathbb{E} q_1^2 = 2^n": None,
    }
    for display, degree in expected.items():
        (step,) = steps_of(f"{declared}\n\n$$ {display} $$\n")[0]
        assert isinstance(step, Step)
        known, claim, _ = claim_of(step)
        assert polynomial_degree(known, claim) == degree, display
