r"""Words say what a symbol is where they name it; near it they may speak of something else."""

from __future__ import annotations

import pytest

from attention_core.derivation import StepReport, check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.records import GOOD, Verdict


def last(words: str, display: str) -> StepReport:
    return check_document(f"{words}\n\n$$ {display} $$\n", effort=Effort(seconds=2), infer=True).steps[-1]


@pytest.mark.parametrize(
    ("words", "display"),
    [
        ("In other words, $a$ is the first factor and $b$ the second.", "(a + 1)^2 = a^2 + 2 a + 1"),
        ("We plot the error as a function of $w$ here.", "(w + 1)^2 = w^2 + 2 w + 1"),
        ("Minimize the function $f(x) = a x^2$ by hand.", "(a + 1)^2 = a^2 + 2 a + 1"),
        ("Each input is multiplied by a set of weights, and we set $u$ aside.", "(u + 1)^2 = u^2 + 2 u + 1"),
        ("The random variable has a rate $r$.", "(r + 1)^2 = r^2 + 2 r + 1"),
        (
            "In discrete problems this is $p$, while for continuous variables this is a density function.",
            "(p + 1)^2 = p^2 + 2 p + 1",
        ),
        ("The matrices $W_h$ and $W_x$ are large.", "(h + 1)^2 = h^2 + 2 h + 1"),
        ("The derivative of the sigmoid function $y (1 - y)$ is small.", "(y + 1)^2 = y^2 + 2 y + 1"),
        ("To get the $X^\\top (y - z)$ form, you work through the algebra.", "(y + 1)^2 = y^2 + 2 y + 1"),
        ("The treatment of $s$ is a bit more complex.", "(s + 1)^2 = s^2 + 2 s + 1"),
        ("We draw infinitely many datasets $D$.", "(D + 1)^2 = D^2 + 2 D + 1"),
        ("- $O_i$ is the frequency in category $i$\n- $E_i$ is expected", "(E_i + 1)^2 = E_i^2 + 2 E_i + 1"),
        ("where $d \\ne 0$ is a frobnicated strength.", "(d + 1)^2 = d^2 + 2 d + 1"),
        ("Here $R_i$ is a block-diagonal rotation matrix that turns pairs.", "(R_i q)^\\top k = q^\\top R_i^\\top k"),
        ("Its derivative $f'(A)$ is a linear operator.", "\\operatorname{tr}(A B) = \\operatorname{tr}(B A)"),
        ("| Set | Name |\n|---|---|\n| $x$ | weight |\n| $G$ | a group |", "(x + 1)^2 = x^2 + 2 x + 1"),
        ("It is linear in $u$, this is called polynomial.", "(u + 1)^2 = u^2 + 2 u + 1"),
        (
            "The matrix $A \\in \\mathbb{R}^{n \\times d}$, which is a linear transformation, acts.",
            "(A x)^\\top = x^\\top A^\\top",
        ),
        ("The matrices $a$ and $b$ are given.", "2 (a + b) - a = a + 2 b"),  # true of matrices as well
        ("Introduce the partition function $Z(x)$ here.", "(Z(x) + 1)^2 = Z(x)^2 + 2 Z(x) + 1"),
    ],
)
def test_words_near_a_symbol_leave_its_reading(words: str, display: str) -> None:
    step = last(words, display)
    assert step.verdict in GOOD, step.evidence.text


@pytest.mark.parametrize(
    ("words", "display"),
    [
        ("The matrices $a$ and $b$ are given.", "(a + 1)^2 = a^2 + 2 a + 1"),
        ("Here $a$ is a large square matrix.", "(a + 1)^2 = a^2 + 2 a + 1"),
        ("Take the map $a$, a function of time.", "(a + 1)^2 = a^2 + 2 a + 1"),
        ("Words $a$ and $b$ are joined.", "(a + 1)^2 = a^2 + 2 a + 1"),
        ("The set $A$ is finite.", "(A + 1)^2 = A^2 + 2 A + 1"),
        ("In a group with elements $g$ and $h$ we multiply.", "(g + 1)^2 = g^2 + 2 g + 1"),
        ("$g$, an operator", "(g + 1)^2 = g^2 + 2 g + 1"),
        ("$a$: the matrix of the step", "(a + 1)^2 = a^2 + 2 a + 1"),
        ("The paths $p$ and $q$ are composed.", "(p + 1)^2 = p^2 + 2 p + 1"),
        ("| $g$ | a group |", "(g + 1)^2 = g^2 + 2 g + 1"),
        ("The matrices $a$ and $b$ are given.", "(a + b)^2 = a^2 + 2 a b + b^2"),
        ("where $a \\in \\operatorname{Frob}(3)$ and so on.", "(a + 1)^2 = a^2 + 2 a + 1"),
    ],
)
def test_words_that_say_what_a_symbol_is_count(words: str, display: str) -> None:
    step = last(words, display)
    assert step.verdict is Verdict.UNDECIDED and "as it was read it holds, but line" in step.evidence.text


def test_a_declaration_that_fails_counts_for_what_it_declares() -> None:
    words = "where $T_k$ is a frobnicated thing, and $a$ are the frobs."
    assert last(words, "(k + 1)^2 = k^2 + 2 k + 1").verdict in GOOD
    assert last(words, "(a + 1)^2 = a^2 + 2 a + 1").verdict in GOOD
    failed = "where $a \\in \\mathcal{Q}_7$, a frob."
    assert last(failed, "(a + 1)^2 = a^2 + 2 a + 1").verdict is Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("words", "display"),
    [
        ("# Products of matrices a and b", "a b = b a"),
        ("Here a star is convolution with a shift, which does not commute.", "a * b = b * a"),
        ("The amplitudes $z$ are complex.", "|z|^2 = z^2"),
        ("- $g$, $h$: rotations of space.", "g h = h g"),
        ("| symbol | meaning |\n|---|---|\n| a | a square matrix |", "a b = b a"),
        ("# The noncommuting case", "p q = q p"),
        ("The score $s$ may be infinite.", "s - s = 0"),
    ],
)
def test_a_symbol_that_is_called_something_else_makes_no_step_hold(words: str, display: str) -> None:
    step = last(words, display)
    assert step.verdict is Verdict.UNDECIDED and "as it was read it holds, but line" in step.evidence.text


@pytest.mark.parametrize(
    ("words", "display"),
    [
        ("The matrix $A$ has the eigenvalue $\\lambda$.", "\\lambda A = A \\lambda"),
        ("# Numbers", "a b = b a"),
        ("The set of all products is large, and $a$ is a number.", "a b = b a"),
    ],
)
def test_other_words_leave_a_reading_as_it_is(words: str, display: str) -> None:
    assert last(words, display).verdict in GOOD


@pytest.mark.parametrize(
    ("words", "display"),
    [
        ("The number $a$ is complex.", "|a|^2 = a^2"),
        ("The numbers $a$ and $b$ are purely imaginary.", "\\sqrt{a^2} + b = |a| + b"),
        ("In floating-point arithmetic we have", "(a + b) + c = a + (b + c)"),
        ("In the tropical semiring we have", "a + a = 2 a"),
        ("The density matrix $\\rho$ and the matrix $H$ obey", "H \\rho - \\rho H = 0"),
    ],
)
def test_words_by_which_an_identity_of_numbers_may_fail(words: str, display: str) -> None:
    step = check_document(f"{words}\n\n$$ {display} $$\n", infer=True).steps[-1]
    assert step.verdict not in GOOD, step.evidence.text
    other = check_document(f"We have\n\n$$ {display} $$\n", infer=True).steps[-1]
    assert other.verdict in GOOD, other.evidence.text


def test_a_scalar_beside_matrices_changes_nothing() -> None:
    step = check_document(
        "For matrices $a$ and $b$\n\n$$ \\lambda (a + b) = \\lambda a + \\lambda b $$\n", infer=True
    ).steps[-1]
    assert step.verdict in GOOD, step.evidence.text
