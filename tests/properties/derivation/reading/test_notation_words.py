"""What a document says of its signs: an index above a letter that numbers entries is not a power."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document

SQUARE = "\n\n$$ x^1 x^1 = x^2 $$\n"


@pytest.mark.parametrize(
    "words",
    [
        "Here $x^i$ is the $i$th component of $x$.",
        "where \\(x^{i}\\) denotes the $i$-th entry of the vector.",
        "We use the notation in which $\\mathbf{x}^k$ is the $k$-th coordinate.",
        "The vector $x$ has components $x^1, \\dots, x^n$.",
    ],
)
def test_marks_that_number_entries_are_not_powers(words: str) -> None:
    (step,) = (one for one in check_document(words + SQUARE, infer=True).steps if one.line > 1)
    assert str(step.verdict) in ("UNDECIDED", "UNREADABLE"), step.evidence.text
    assert "marks above x number its entries, and are not powers: write x_i" in step.evidence.text


@pytest.mark.parametrize(
    "words",
    [
        "Here $x^k$ is the largest power.",
        "Here $y^i$ is the $i$th component of $y$.",
        "Here $x_i$ is the $i$th component, and $x^k$ a power.",
        "The entries are powers $x^1$ and $x^2$.",
    ],
)
def test_other_marks_are_powers(words: str) -> None:
    (step,) = check_document(words + SQUARE, infer=True).steps
    assert str(step.verdict) == "PROVED", step.evidence.text
