"""Shapes under equations among sizes.

Sizes that hypotheses make equal are equal for shapes; where it is not clear whether they are, nothing is refuted.
"""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document

TRUE = [
    (r"$E, h, d \in \mathbb{N}$ with $E = h d$, $W \in \mathbb{R}^{E \times E}$, $A \in \mathbb{R}^{E \times h d}$",
     r"\|A + W\|_F \le \|A\|_F + \|W\|_F"),
    (r"$E, h, d \in \mathbb{N}$ with $E / h = d$, $W \in \mathbb{R}^{d \times d}$, $A \in \mathbb{R}^{E/h \times d}$",
     r"W A + A = (W + I_d) A"),
    (r"$E, h, d \in \mathbb{N}$ with $d = E / h$, $W \in \mathbb{R}^{d \times d}$, $A \in \mathbb{R}^{E/h \times d}$",
     r"W A + A = (W + I_{E/h}) A"),
    (r"$p, q \in \mathbb{N}$ with $p = q$, $A \in \mathbb{R}^{p \times p}$, $B \in \mathbb{R}^{q \times q}$",
     r"\operatorname{tr}(A B) = \operatorname{tr}(B A)"),
    (r"$n, m \in \mathbb{N}$, $x \in \mathbb{R}^n$, $y \in \mathbb{R}^m$ with $n = m$",
     r"\|x + y\|^2 = \|x\|^2 + 2 x^\top y + \|y\|^2"),
    (r"$n, m \in \mathbb{N}$, $x \in \mathbb{R}^n$, $y \in \mathbb{R}^m$",
     r"n = m \implies \|x + y\|^2 = \|x\|^2 + 2 x^\top y + \|y\|^2"),
    (r"$n \in \mathbb{N}$, $n = 3$, $x \in \mathbb{R}^n$, $y \in \mathbb{R}^3$", r"\|x + y\|^2 = \|y + x\|^2"),
    (r"$n, m \in \mathbb{N}$ with $n = m^2$, $x \in \mathbb{R}^n$, $y \in \mathbb{R}^{m^2}$", r"x^\top y = y^\top x"),
    (r"$n, m, k \in \mathbb{N}$ with $n = m + k$, $x \in \mathbb{R}^n$, $y \in \mathbb{R}^{m + k}$", r"x + y = y + x"),
    (r"$a, b, d \in \mathbb{N}$ with $a = b = d$, $x \in \mathbb{R}^{a}$, $y \in \mathbb{R}^{b}$. Put $z := x + y$",
     r"z^\top x = x^\top x + y^\top x"),
    (r"$a, b \in \mathbb{N}$, $x \in \mathbb{R}^{a}$, $y \in \mathbb{R}^{b}$, with $a = b$ and $x + y = 0$", "x = -y"),
]  # fmt: skip
REFUTED = [
    (r"$p, q \in \mathbb{N}$ with $p = q$, $A \in \mathbb{R}^{p \times p}$, $B \in \mathbb{R}^{q \times q}$",
     "A B = B A"),
    (r"$p, q \in \mathbb{N}$, $A \in \mathbb{R}^{p \times p}$, $B \in \mathbb{R}^{q \times q}$", "A B = B A"),
    (r"$p, q \in \mathbb{N}$ with $p \le q$, $A \in \mathbb{R}^{p \times p}$, $B \in \mathbb{R}^{q \times q}$",
     r"\operatorname{tr}(A B) = \operatorname{tr}(B A)"),
    (r"$n, m \in \mathbb{N}$ with $n = 2 m$, $x \in \mathbb{R}^n$, $y \in \mathbb{R}^m$", "x + y = y + x"),
]  # fmt: skip


def verdict(declared: str, display: str) -> tuple[str, str]:
    (step, *_) = check_document(f"Let {declared}.\n\n$$ {display} $$\n").steps
    return str(step.verdict), step.evidence.text


@pytest.mark.parametrize(("declared", "display"), TRUE)
def test_sizes_that_a_hypothesis_makes_equal_fit(declared: str, display: str) -> None:
    found, said = verdict(declared, display)
    assert found in ("PROVED", "EXACT", "AGREES"), said


@pytest.mark.parametrize(("declared", "display"), REFUTED)
def test_other_shapes_are_refuted_as_before(declared: str, display: str) -> None:
    assert verdict(declared, display)[0] == "REFUTED"


def test_a_condition_that_is_not_solved_leaves_the_shape_open() -> None:
    declared = r"$n, m \in \mathbb{N}$, $x \in \mathbb{R}^n$, $y \in \mathbb{R}^m$ with $n \le m$ and $m \le n$"
    found, said = verdict(declared, "x + y = y + x")
    assert found == "UNDECIDED"
    assert "use one name" in said


def test_an_equation_in_a_section_of_its_own_does_not_reach_the_next() -> None:
    head = r"Let $n, m \in \mathbb{N}$, $x \in \mathbb{R}^n$, $y \in \mathbb{R}^m$." + "\n\n"
    text = f"# Attention\n\n{head}## Notes\n\nAssume $n = m$.\n\n$$ x + y = y + x $$\n\n## Examples\n\n$$ x + y = y + x $$\n"
    assert [str(step.verdict) for step in check_document(text).steps] == ["PROVED", "REFUTED"]
