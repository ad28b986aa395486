"""Derivatives along a direction: of functions of numbers, vectors and matrices that a document defines."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.elaborate.differentials import differential_of
from attention_core.derivation.records import GOOD, Verdict
from attention_core.derivation.terms.terms import SCALAR, Term

HEAD = (
    r"Let $n \in \mathbb{N}$, $A, X, H \in \mathbb{R}^{n \times n}$, $x, h \in \mathbb{R}^n$. Put $f(x) := x^\top A x$, "
    r"$g(x) := \operatorname{softmax}(x)$ and $F(X) := X X^\top$. All hypotheses are declared as formulas."
)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (r"D f(x)[h] = x^\top (A + A^\top) h", r"D f(x)[h] = 2 x^\top A h"),
        (r"D f(x) h = x^\top (A + A^\top) h", r"D f(x) h = h^\top A h"),
        (r"Df(A x)[h] = x^\top A^\top (A + A^\top) h", r"Df(A x)[h] = x^\top (A + A^\top) h"),
        (r"D g(x)[h] = g(x) \odot h - (g(x)^\top h) g(x)", r"D g(x)[h] = g(x) \odot h - (g(x)^\top h) h"),
        (r"D F(X)[H] = H X^\top + X H^\top", r"D F(X)[H] = 2 H X^\top"),
    ],
)
def test_directions(right: str, wrong: str) -> None:
    for step, good in ((right, True), (wrong, False)):
        (found,) = check_document(f"{HEAD}\n\n$$ {step} $$\n").steps
        assert (found.verdict in GOOD) is good and (found.verdict is Verdict.REFUTED) is not good, found.evidence.text


def test_a_direction_has_the_shape_of_its_argument() -> None:
    (found,) = check_document(f"{HEAD}\n\n$$ D f(x)[H] = 0 $$\n").steps
    assert found.verdict is Verdict.REFUTED and "shapes" in found.evidence.text


def test_what_is_held_does_not_change() -> None:
    x = Term("leaf", (), SCALAR, "x")
    assert differential_of(x, {"y": "d y"}).args[0] is x
    assert differential_of(x, {"x": "d x"}).args[0].op == "add"
