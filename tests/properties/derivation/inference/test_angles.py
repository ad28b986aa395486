r"""Capitals under functions of angles are numbers where the document speaks of angles, and of no matrices."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.inference.angles import says_angles
from attention_core.derivation.records import GOOD, Verdict

ANGLES = "We calculate with angles in a triangle."
SUM = r"\cos(A + B) = \cos A \cos B - \sin A \sin B"
OTHERS = [
    "In this note capital letters denote matrices.", "Matrix functions satisfy", r"Since $AB \neq BA$, we have",
    "We look at observables.", "Take the generators $A$ and $B$.", "The Hamiltonian is $H = A + B$.",
    r"We study a linear system $\dot x = A x$.", "", "We show:",
]  # fmt: skip


def verdict(formula: str, head: str = "") -> Verdict:
    return check_document(f"{head}\n\n$$ {formula} $$\n", infer=True).steps[-1].verdict


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (r"\sin(2A) = 2 \sin A \cos A", r"\sin(2A) = 2 \sin A \sin A"),
        (r"\sin(A + B) = \sin A \cos B + \cos A \sin B", r"\sin(A + B) = \sin A \cos B - \cos A \sin B"),
        (r"\cos(A - B) = \cos A \cos B + \sin A \sin B", r"\cos(A + B) = \cos A \cos B + \sin A \sin B"),
        (r"\tan A = \frac{\sin A}{\cos A}", r"\tan A = \frac{\cos A}{\sin A}"),
    ],
)
def test_an_angle_may_be_named_with_a_capital(right: str, wrong: str) -> None:
    assert verdict(right, ANGLES) in GOOD
    assert verdict(wrong, ANGLES) not in GOOD


@pytest.mark.parametrize("words", OTHERS)
def test_without_words_of_angles_alone_a_capital_may_be_a_matrix(words: str) -> None:
    assert verdict(SUM, words) is (Verdict.UNDECIDED if "H = A" in words else Verdict.AMBIGUOUS)
    if words and "show" not in words:
        assert verdict(SUM, f"{words} {ANGLES}") not in (*GOOD, Verdict.REFUTED)
    assert not says_angles([words])


@pytest.mark.parametrize("words", ["The angles are free.", "In radians:", r"Let $C = 90^\circ$.", "Trigonometry:"])
def test_words_of_angles(words: str) -> None:
    assert says_angles([words]) and verdict(SUM, words) in GOOD
    assert not says_angles([words, "The matrices commute."])


@pytest.mark.parametrize("formula", [r"(\sin(A))^2 + (\cos(A))^2 = I", r"\cos(W x + b) = \cos(W x)"])
def test_what_is_used_as_a_matrix_is_not_an_angle(formula: str) -> None:
    (found,) = check_document(f"{ANGLES}\n\n$$ {formula} $$\n", infer=True).steps
    assert found.verdict not in (*GOOD, Verdict.REFUTED)
    assert not any("an angle" in one for one in found.evidence.figures["read_as"])


def test_a_declared_matrix_may_have_the_sine_of_a_matrix() -> None:
    head = r"Let $A \in \mathbb{R}^{n \times n}$."
    assert verdict(r"\sin(2A) = 2 \sin A \cos A", head) is Verdict.UNDECIDED
    assert verdict(r"\tanh(2A) = 2 \tanh A", head) is Verdict.REFUTED
