"""The mend nearest to a false step: the mistakes that people make are undone, and what is not known is not said."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.check import document_steps
from attention_core.derivation.decision.mends import MAX_MADE, mends_of
from attention_core.derivation.latex.printer import to_latex
from attention_core.derivation.reading.step import Step
from attention_core.derivation.reading.steps import steps_of

HEAD = (
    r"Let $n, d \in \mathbb{N}$, $a, b \in \mathbb{R}$, $x, y \in \mathbb{R}^n$, $A, B \in \mathbb{R}^{n \times n}$, "
    r"$k_1, \dots, k_n \in \mathbb{R}^d$, $Q, K \in \mathbb{R}^{n \times d}$ and $i, j \in \{1, \dots, n\}$. All hypotheses are declared as formulas."
)


def advice(formula: str) -> str:
    (step,) = check_document(f"{HEAD}\n\n$$ {formula} $$\n").steps
    assert str(step.verdict) == "REFUTED", step.evidence.text
    return step.evidence.advice


@pytest.mark.parametrize(
    ("formula", "new", "old"),
    [
        (r"(a - b)^2 = a^2 - 2 a b - b^2", "+ b^{2}", "- b^{2}"),
        (r"(a + b)^2 = a^2 + a b + b^2", "2 a b", "a b"),
        (r"e^{a + b} = - e^a e^b", "e^{a} e^{b}", "-e^{a} e^{b}"),
        (r"(A B)^\top = A^\top B^\top", r"B^\top A^\top", r"A^\top B^\top"),
        (r"(Q K)_{ij} = \sum_{k=1}^d Q_{ik} K_{jk}", r"K^\top", "K"),
        (r"(x y^\top)_{ij} = x_i y_i", "y_{j}", "y_{i}"),
        (r"\sum_{k=1}^n k = \frac{n (n - 1)}{2}", "n + 1", "n - 1"),
        (r"\sum_{k=1}^{n-1} k = \frac{n (n + 1)}{2}", "n", "n - 1"),
        (r"(n + 1) = \frac{4 n}{4}", "n", "n + 1"),
        (r"a^2 + b^2 \ge 2 a b + 1", "2 a b", "2 a b + 1"),
        (r"(a + b)^2 = a^2 + 2 (2 a b) + b^2", "(2 a b)", "2 (2 a b)"),
        (
            r"\frac{1}{3} (\cos(a)^2 + \sin(a)^2) = 1",
            r"(\cos(a)^{2} + \sin(a)^{2})",
            r"\frac{1}{3} (\cos(a)^{2} + \sin(a)^{2})",
        ),
        (r"k_i k_j = k_j^\top k_i", r"k_{i}^\top", "k_{i}"),
        (r"\mathbf{1}_n A x = x^\top A^\top \mathbf{1}_n", r"\mathbf{1}_{n}^\top", r"\mathbf{1}_{n}"),
        (r"(Q K) K = Q K^\top K", r"K^\top", "K"),
        (r"a^2 + b^2 \le 2 a b", r"\ge", r"\le"),
        (r"2 a b \le -(a^2 + b^2)", "(a^{2} + b^{2})", "-(a^{2} + b^{2})"),
        (r"(Q K^\top)_{ij} = \sum_{k=1}^d Q_{ik} K_{ik}", "K_{j k}", "K_{i k}"),
        (r"\nabla_a (a^3 + a b) = 2 a^2 + b", "3", "2"),
    ],
)
def test_the_mistake_is_named(formula: str, new: str, old: str) -> None:
    assert f"with ${new}$ in place of ${old}$: is that meant?" in advice(formula)


def test_a_missing_hypothesis_and_a_missing_factor_are_named_as_before() -> None:
    assert "under the further hypothesis $A = A^\\top$" in advice(r"\nabla_x x^\top A x = 2 A x")
    assert "is a factor missing?" in advice(r"2 \|x\|^2 = x^\top x")


def test_what_no_change_mends_has_no_advice() -> None:
    assert advice(r"\sin(a) = \log(1 + e^b)") == ""


def test_no_mend_makes_both_sides_the_same() -> None:
    (step,) = steps_of(f"{HEAD}\n\n$$ A x = A^\\top x $$\n")[0]
    assert isinstance(step, Step)
    assert all(to_latex(one.step.left) != to_latex(one.step.right) for one in mends_of(step))
    assert "further hypothesis $A = A^\\top$" in advice(r"A x = A^\top x")


@pytest.mark.parametrize(
    ("words", "formula", "advice"),
    [
        ("Let $d \\in \\mathbb{N}$ and $u \\in \\mathbb{R}^d$ with $\\|u\\| = 1$.", r"u^\top u = 1 + 1", "in place of $1 + 1$"),
        ("Let $d \\in \\mathbb{N}$ and $u, v \\in \\mathbb{R}^d$ with $u^\\top v = 0$.", r"u^\top v = -1", "with $0$ in place of $-1$"),
        ("Let $g \\in \\mathbb{R}$ with $g > 0$.", r"\frac{1}{1 + e^{-g}} \ge \frac{1}{1 + e^{-2 g} - 1 + e^{-g}}", "is that meant"),
    ],
)  # fmt: skip
def test_a_number_is_not_a_missing_factor_and_nothing_is_minus_zero(words: str, formula: str, advice: str) -> None:
    found = check_document(f"{words}\n\n$$ {formula} $$\n").steps[-1]
    assert advice in str(found.evidence.advice), found.evidence.advice
    assert "factor" not in str(found.evidence.advice) and "$-0$" not in str(found.evidence.advice)


def test_of_a_long_step_each_kind_of_change_is_tried() -> None:
    terms = [f"{n + 2} x_{{{n}}} y" for n in range(1, 16)]
    left, right = f"({' + '.join(terms)}) z", " + ".join(f"z {one}" for one in terms[:-1])
    (step,) = document_steps(f"$$ {left} = {right} + z x_{{15}} y $$\n", infer=True)[1]
    assert isinstance(step, Step)
    made = list(mends_of(step))
    order = [one.kind for one in made if len(one.words) < 60]
    assert {"signs", "without", "indices", "coefficients", "numbers"} <= set(order)
    assert len(made) <= MAX_MADE + 2


@pytest.mark.parametrize("formula", [r"(a - b) a = 0", r"a b - b a + a^2 - a b = 0"])
def test_a_change_by_which_both_sides_vanish_is_not_named(formula: str) -> None:
    assert "in place of" not in advice(formula)


def test_a_zero_that_is_written_may_be_meant() -> None:
    assert "with $- b$ in place of $+ b$" in advice("(a + b) - (a + b) + b + b = 0")


def test_a_number_is_in_its_place_whatever_stands_in_a_subscript() -> None:
    (step,) = document_steps(
        r"$$ \frac{1 - \alpha_t}{\alpha_{t - 1}} = \frac{2 - \alpha_t}{\alpha_{t - 1}} $$", infer=True
    )[1]
    assert isinstance(step, Step)
    kinds = {one.kind for one in mends_of(step, alike=True) if one.words == "with $2$ in place of $1$"}
    assert kinds == {"numbers", "places"}  # of the number above, and of the subscript
