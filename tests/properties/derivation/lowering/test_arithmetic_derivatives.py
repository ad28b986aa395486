"""Derivatives by what a document defines: the backward pass of attention, quantity by quantity."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import GOOD, Verdict

ATTENTION = r"""Let $Q, K \in \mathbb{R}^{n \times d}$ and $V, H \in \mathbb{R}^{n \times m}$.

Put $S := QK^\top/\sqrt{d}$, $P := \operatorname{softmax}(S)$, $O := PV$ and $L := \sum_{i=1}^n \sum_{j=1}^m H_{ij} O_{ij}$.

$$ \frac{\partial L}{\partial V} = P^\top H $$

$$ %s $$
"""
RIGHT = (
    r"\frac{\partial L}{\partial O} = H",
    r"\frac{\partial L}{\partial P} = H V^\top",
    r"\frac{\partial L}{\partial S} = P \odot (H V^\top - ((H \odot O) \mathbf{1}) \mathbf{1}^\top)",
    r"\frac{\partial L}{\partial Q} = \frac{1}{\sqrt d} \frac{\partial L}{\partial S} K",
    r"\frac{\partial L}{\partial K} = \frac{1}{\sqrt d} \left(\frac{\partial L}{\partial S}\right)^\top Q",
)
WRONG = (
    r"\frac{\partial L}{\partial O} = O",
    r"\frac{\partial L}{\partial P} = V H^\top",  # the shapes of the step above leave no other layout
    r"\frac{\partial L}{\partial S} = P \odot (H V^\top) - ((H \odot O) \mathbf{1}) \mathbf{1}^\top",
    r"\frac{\partial L}{\partial Q} = \frac{\partial L}{\partial S} K",
    r"\frac{\partial L}{\partial K} = \frac{1}{\sqrt d} \frac{\partial L}{\partial S} Q",
)


@pytest.mark.parametrize("step", RIGHT)
def test_right_steps_of_a_backward_pass(step: str) -> None:
    found = check_document(ATTENTION % step, infer=True).steps[-1]
    assert found.verdict in GOOD, found.evidence.text


@pytest.mark.parametrize("step", WRONG)
def test_wrong_ones(step: str) -> None:
    found = check_document(ATTENTION % step, infer=True).steps[-1]
    assert found.verdict is Verdict.REFUTED, found.evidence.text


def test_equal_entries_are_told_apart() -> None:
    r"""X X^\top is symmetric: its entry 1, 2 is that of 2, 1, and a derivative by one of them is not by both."""
    text = "Let $X \\in \\mathbb{R}^{n \\times d}$ and $C \\in \\mathbb{R}^{n \\times n}$.\n\nPut $S := X X^\\top$ and $L := \\operatorname{tr}(C^\\top S)$.\n\n$$ \\frac{\\partial L}{\\partial S} = %s $$\n"
    assert check_document(text % "C", infer=True).steps[-1].verdict in GOOD
    assert check_document(text % r"C + C^\top", infer=True).steps[-1].verdict is Verdict.REFUTED


def test_what_does_not_go_through_a_quantity_is_not_differentiated_by_it() -> None:
    text = "Let $x \\in \\mathbb{R}^n$. Put $y := 2 x$ and $L := x^\\top x$.\n\n$$ \\frac{\\partial L}{\\partial y} = 0 $$\n"
    (found,) = check_document(text.replace("$x \\in", "$n \\in \\mathbb{N}$ and $x \\in")).steps
    assert found.verdict is Verdict.UNREADABLE and "not made of it" in found.evidence.text


@pytest.mark.parametrize(
    ("step", "verdict"),
    [
        (r"\frac{\partial z}{\partial y} = 3 y^2", "good"),
        (r"\frac{d z}{d x} = \frac{\partial z}{\partial y} \frac{d y}{d x} + 1", "good"),
        (r"\frac{d z}{d x} = \frac{\partial z}{\partial x} + \frac{\partial z}{\partial y} \frac{d y}{d x}", "open"),
        (r"\frac{d z}{d x} = \frac{\partial z}{\partial y} \frac{d y}{d x}", Verdict.REFUTED),
    ],
)
def test_partial_and_total_derivatives(step: str, verdict: object) -> None:
    r"""$\partial z/\partial x$ beside $\partial z/\partial y$ may hold y fixed: such a step is not refuted."""
    text = f"Let $x \\in \\mathbb{{R}}$, $y = x^2$ and $z = y^3 + x$.\n\n$$ {step} $$\n"
    found = check_document(text, infer=True).steps[-1]
    if verdict == "open":
        assert found.verdict in (Verdict.UNDECIDED, Verdict.AMBIGUOUS), found.evidence.text
    else:
        assert found.verdict in GOOD if verdict == "good" else found.verdict is verdict, found.evidence.text
