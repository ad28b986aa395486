"""Phrases about the parts of arrays, orders and memberships become properties and formulas."""

from __future__ import annotations

import pytest

from attention_core.derivation.document.blocks import Paragraph
from attention_core.derivation.reading.spelled_domains import spell_out


def spelled(text: str) -> str:
    (block,) = spell_out([Paragraph(1, text)], words=False)
    return str(getattr(block, "text", ""))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Let $Q$ be a matrix whose columns are orthonormal.", "Let $Q$ be a matrix with orthonormal columns."),
        ("Let $A \\succeq 0$.", "Let $A$ positive semidefinite."),
        ("where $A, B \\succ 0$.", "where $A, B$ positive definite."),
        ("Let $A$ satisfy $A^\\top = -A$.", "Assume $A^\\top = -A$."),
        ("For every $x$ in $[0, 1]$ we have", "For every $x \\in [0, 1]$ we have"),
        ("Each row of $A$ is a probability vector.", "$A$ is row-stochastic."),
        ("We restrict ourselves to symmetric $A$.", "Consider symmetric $A$."),
        ("Scaled, $q$ is drawn from $\\mathcal{N}(0, I_d)$.", "Scaled, $q \\sim \\mathcal{N}(0, I_d)$."),
        (
            "The entries of $q$ and $k$ are i.i.d. standard normal.",
            "$q$ and $k$ are independent standard normal vectors.",
        ),
    ],
)
def test_a_phrase_is_written_as_what_it_means(written: str, meant: str) -> None:
    assert spelled(written) == meant


@pytest.mark.parametrize(
    "written",
    [
        "Let $Q$ be a matrix whose columns are long.",
        "Let $A \\succeq B$.",
        "Here $A \\succeq 0$.",
        "Each row of $A$ is a word.",
        "The answer is in $[3]$.",
        "Let $q$ be drawn from $D$.",
        "We restrict the sum to one term.",
    ],
)
def test_other_phrases_stay_as_they_are(written: str) -> None:
    assert spelled(written) == written


def test_lines_stay_where_they_are() -> None:
    assert spelled("Let $A$\nbe a matrix whose\ncolumns are orthonormal.\nThen").count("\n") == 3
