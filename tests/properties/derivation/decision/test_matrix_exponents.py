"""Undeclared capitals in exponents may be matrices: what is false of matrices is not accepted of numbers."""

from __future__ import annotations

import numpy as np
import pytest

from attention_core.derivation import StepReport, check_document
from attention_core.derivation.decision.matrix_exponents import ABOVE, describe_matrices


def inferred(document: str) -> list[StepReport]:
    return list(check_document(document, infer=True).steps)


@pytest.mark.parametrize(
    ("formula", "letters"),
    [
        (r"e^{A + B} = e^A e^B", "A, B"),
        (r"2^A 2^B = 2^B 2^A", "A, B"),
        (r"e^{A / 2} e^B e^{A / 2} = e^{A + B}", "A, B"),  # holds up to the second order
        (r"e^{-(E - F) / T} = e^{-E / T} e^{F / T}", "E, F"),
        (r"e^{S_1 + S_2} = e^{S_1} e^{S_2}", "S_{1}, S_{2}"),
    ],
)
def test_what_is_false_of_matrices_is_ambiguous(formula: str, letters: str) -> None:
    (step,) = inferred(f"$$ {formula} $$\n")
    words = f"it is false with square matrices ${letters}$ and $e^X = I + X + X X / 2 + \\dots$, at "
    assert step.verdict == "AMBIGUOUS" and step.evidence.text.startswith(words), step.evidence.text
    assert step.counterexample is None


@pytest.mark.parametrize(
    "document",
    [
        r"$$ e^{2 A} = (e^A)^2 $$",  # powers of one matrix commute
        r"$$ e^A + e^B = e^B + e^A $$",
        r"$$ e^{A + B} = e^A e^B $$" + "\n\n" + r"$$ A + 1 = 1 + A $$",  # a matrix and a number are not added
        r"Let $A, B \in \mathbb{R}$." + "\n\n" + r"$$ e^{A + B} = e^A e^B $$",
        r"$$ e^{a + b} = e^a e^b $$",
        r"$$ \frac{e^A}{e^A + e^B} = \frac{1}{1 + e^{B - A}} $$",  # by a matrix nothing is divided
    ],
)
def test_what_no_matrix_contradicts_is_accepted(document: str) -> None:
    steps = inferred(document)
    assert all(step.verdict == "PROVED" for step in steps), [step.evidence.text for step in steps]


def test_the_matrices_do_not_commute_in_pairs_or_in_threes() -> None:
    some = [np.diag(above, 1) for above in ABOVE]
    for place, one in enumerate(some):
        for other in some[:place]:
            inner = one @ other - other @ one
            assert inner.any() and (one @ inner - inner @ one).any()
    assert describe_matrices(["A"]) == "A = [0, 1, 0, 0; 0, 0, 2, 0; 0, 0, 0, 1; 0, 0, 0, 0]"
