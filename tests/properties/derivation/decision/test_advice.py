"""Guesses about refuted steps, and necessity.

A refuted step says what would make it true when that can be found; a step that holds says which hypotheses it needs.
Each guess is confirmed here by writing it into the document.
"""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document

HEAD = (
    "Let $d, m, p, n \\in \\mathbb{N}$, $A \\in \\mathbb{R}^{d \\times m}$, $B \\in \\mathbb{R}^{d \\times p}$, "
    "$x \\in \\mathbb{R}^{m}$, $y \\in \\mathbb{R}^{p}$, $u, v \\in \\mathbb{R}$, $k_1, \\dots, k_n \\in \\mathbb{R}^{d}$, "
    "$a, b \\in \\{1, \\dots, n\\}$.\n\n"
)


@pytest.mark.parametrize(
    ("given", "display", "missing"),
    [
        (r"$A^\top A = I_m$", r"A A^\top (A x + B y) = A x", r"$A^\top B = 0$"),
        (r"$A^\top B = 0$", r"A^\top (A x + B y) = x", r"$A^\top A = I_{m}$"),
        (r"$k_i^\top k_j = 0$ for $i \ne j$", r"(k_a + k_b)^\top k_a = k_a^\top k_a", r"$a \ne b$"),
        (r"$u \ge v$", r"u^2 \ge v^2", r"$v \ge 0$"),
        (r"$v \ge 0$", r"\sqrt{u^2} = u", r"$u \ge 0$"),
    ],
)
def test_a_missing_hypothesis_is_guessed_and_is_right(given: str, display: str, missing: str) -> None:
    text = f"{HEAD}Assume {given}.\n\n$$ {display} $$\n"
    (step,) = check_document(text).steps
    assert step.verdict == "REFUTED"
    assert missing in step.evidence.advice, step.evidence.advice
    assert check_document(text.replace(f"Assume {given}.", f"Assume {given}. Assume {missing}.")).passed


def test_a_missing_factor_is_guessed() -> None:
    (step,) = check_document(HEAD + r"$$ \nabla_x (x^\top x) = x $$" + "\n").steps
    assert step.verdict == "REFUTED"
    assert "the left side is 2 times the right side" in step.evidence.advice


def test_where_nothing_is_found_nothing_is_said() -> None:
    (step,) = check_document(HEAD + "$$ u + v = u - 3 v + 7 $$\n").steps
    assert step.verdict == "REFUTED" and step.evidence.advice == ""


def test_necessity_drops_each_hypothesis_in_turn() -> None:
    text = HEAD + r"Assume $A^\top A = I_m$, $A^\top B = 0$ and $u > 0$." + "\n\n$$ u A^\\top (A x + B y) = u x $$\n"
    (step,) = check_document(text, necessity=True).steps
    found = {record["hypothesis"]: record["needed"] for record in step.evidence.figures["necessity"]}
    assert found == {r"A^\top A = I_{m}": True, r"A^\top B = 0": True, "u > 0": False}


def test_a_counterexample_shows_only_what_the_step_is_about() -> None:
    text = HEAD + r"Assume $A^\top A = I_m$." + "\n\n$$ k_a^\\top k_a = 1 $$\n"
    (step,) = check_document(text).steps
    assert step.counterexample is not None
    assert set(step.counterexample.values) == {"d", "n", "a", "k_1"}


@pytest.mark.parametrize(
    "display", [r"\|x\|^2 = \|x\|", r"x^\top y = -x^\top y", r"\|x\|_1 = -\|x\|", "x = -x", r"A x = -A x"]
)
def test_no_hint_names_a_degenerate_size(display: str) -> None:
    head = r"Let $n \in \mathbb{N}$, $x, y \in \mathbb{R}^n$ and $A \in \mathbb{R}^{n \times n}$."
    (step,) = check_document(f"{head}\n\n$$ {display} $$\n").steps
    assert str(step.verdict) == "REFUTED"
    assert "= 1$" not in step.evidence.advice or "\\|" in step.evidence.advice


@pytest.mark.parametrize(
    ("declared", "display", "never"),
    [
        (r"Let $x \in \mathbb{R}$.", r"\frac{1}{1 + e^{-x}} \le 0.6 - 10^{-3} x", r"x \ge 0"),
        (r"Let $a, b, c \in \mathbb{R}$.", r"a^2 + b^2 + c^2 \le 1.73 (a + b + c) - 2.2", r"c \le 1"),
    ],
)
def test_no_hypothesis_is_advised_that_the_counterexample_satisfies(declared: str, display: str, never: str) -> None:
    (step,) = check_document(f"{declared}\n\n$$ {display} $$\n").steps
    assert str(step.verdict) == "REFUTED" and never not in step.evidence.advice, (
        step.evidence.text,
        step.evidence.advice,
    )
