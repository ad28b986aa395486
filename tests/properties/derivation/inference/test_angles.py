r"""Capitals under functions of angles are numbers, unless a formula asks for a matrix."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import GOOD, Verdict


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
    assert verdict(right) in GOOD
    assert verdict(wrong) not in GOOD


@pytest.mark.parametrize("formula", [r"(\sin(A))^2 + (\cos(A))^2 = I", r"\cos(W x + b) = \cos(W x)"])
def test_what_is_used_as_a_matrix_is_not_an_angle(formula: str) -> None:
    (found,) = check_document(f"$$ {formula} $$\n", infer=True).steps
    assert found.verdict not in (*GOOD, Verdict.REFUTED)
    assert not any("an angle" in one for one in found.evidence.figures["read_as"])


def test_a_declared_matrix_may_have_the_sine_of_a_matrix() -> None:
    head = r"Let $A \in \mathbb{R}^{n \times n}$."
    assert verdict(r"\sin(2A) = 2 \sin A \cos A", head) is Verdict.UNDECIDED
    assert verdict(r"\tanh(2A) = 2 \tanh A", head) is Verdict.REFUTED
