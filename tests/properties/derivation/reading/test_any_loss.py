"""Losses of which a document says only what they are functions of, and the functions that are tried in their place."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.reading.any_loss import loss_in
from attention_core.derivation.records import Verdict

FAMILY = (
    r"Let $q \in \mathbb{R}^d$, $k_1, \dots, k_n \in \mathbb{R}^d$ and $W \in \mathbb{R}^{d \times d}$. "
    r"Put $y_j = W k_j$."
)


def test_what_says_that_a_symbol_is_a_loss() -> None:
    assert loss_in(r"\mathcal{L} \colon y, W \to \mathbb{R}") == (r"\mathcal{L}", "y, W")
    assert loss_in(r"f \colon \mathbb{R} \to \mathbb{R}") is None


@pytest.mark.parametrize(
    ("words", "variable", "right"),
    [
        (r"Let $L$ be a scalar function of $q$ and $W$.", "W", r"\frac{\partial L}{\partial W}"),
        (
            r"Let $L$ be a scalar function of $y_1, \dots, y_n$.",
            "W",
            r"\sum_{j=1}^n \frac{\partial L}{\partial y_j} k_j^\top",
        ),
        (r"Let $L$ be a scalar function of $k_1, \dots, k_n$ and $q$.", "q", r"\frac{\partial L}{\partial q}"),
    ],
)
def test_losses_of_several_quantities_and_of_families(words: str, variable: str, right: str) -> None:
    for step, verdict in ((right, Verdict.AGREES), ("0", Verdict.REFUTED)):
        text = f"{FAMILY} {words}\n\n$$ \\frac{{\\partial L}}{{\\partial {variable}}} = {step} $$\n"
        found = check_document(text, infer=True).steps[-1]
        assert found.verdict is verdict, found.evidence.text


@pytest.mark.parametrize(
    ("shape", "claim"),
    [
        ("", r"\frac{\partial^2 L}{\partial O^2} \ge 0"),
        ("^{2}", r"\det(\nabla_O^2 L) = 0"),
        (r"^{2 \times 2}", r"\frac{\partial^2 L}{\partial O_{11}^2} \frac{\partial^2 L}{\partial O_{22}^2} = "
         r"\left(\frac{\partial^2 L}{\partial O_{11} \partial O_{22}}\right)^2"),
    ],
)  # fmt: skip
def test_second_derivatives_are_those_of_any_function(shape: str, claim: str) -> None:
    text = f"Let $O \\in \\mathbb{{R}}{shape}$ and let $L$ be a scalar function of $O$.\n\n$$ {claim} $$\n"
    found = check_document(text, infer=True).steps[-1]
    assert found.verdict in (Verdict.REFUTED, Verdict.UNDECIDED), found.evidence.text
