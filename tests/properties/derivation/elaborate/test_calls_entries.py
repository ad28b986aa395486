"""The larger and the smaller of two arrays, entry by entry, and of an array and 0."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document

LET = "Let $n \\in \\mathbb{N}$ and $x, y \\in \\mathbb{R}^n$ and $A \\in \\mathbb{R}^{n \\times n}$.\n\n"


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (r"\max(x, y) + \min(x, y) = x + y", "PROVED"),
        (r"\max(0, A) - \max(0, -A) = A", "AGREES"),
        (r"\max(0, x) = \operatorname{ReLU}(x)", "PROVED"),
        (r"\min(x, 0) = x - \max(x, 0)", "PROVED"),
        (r"\max(x, y) = x", "REFUTED"),
        (r"\min(0, x) = \operatorname{ReLU}(x)", "REFUTED"),
        (r"\max(x, 1) = x", "UNREADABLE"),
        (r"\max(x, A) = x", "UNREADABLE"),
    ],
)
def test_extremes_of_arrays_are_taken_entry_by_entry(claim: str, verdict: str) -> None:
    (step,) = check_document(f"{LET}$$ {claim} $$\n").steps
    assert step.verdict == verdict, step.evidence.text
