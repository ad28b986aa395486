"""Words behind a property that leave it as it is, and words that make something else of it."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.reading.property_endings import is_changed, keeps_property

GOOD = ("PROVED", "EXACT", "AGREES")
A, P, XY = r"Let $A \in \mathbb{R}^{n \times n}$", r"Let $p \in \mathbb{R}^n$", r"Let $x, y \in \mathbb{R}$"
SYMMETRIC, ONE = r"A^\top = A", r"\sum_{i=1}^n p_i = 1"
CHANGED = [
    (rf"{A} be a matrix with symmetric square.", SYMMETRIC),
    (rf"{A} have a symmetric square.", SYMMETRIC),
    (rf"{A} be a matrix whose square is symmetric.", SYMMETRIC),
    (rf"{A} with positive definite square.", SYMMETRIC),
    (rf"{A} with skew-symmetric square.", r"A^\top = -A"),
    (rf"{A} be a matrix with orthogonal square.", r"A^\top A = I_n"),
    (rf"{A} be a matrix whose columns are orthogonal.", r"A^\top A = I_n"),
    (rf"{A} be a matrix with diagonal square.", "A_{1 2} = 0"),
    (rf"{A} have idempotent square.", "A A = A"),
    (rf"{A} be symmetric for small $n$.", SYMMETRIC),
    (rf"{A} be symmetric, at least for small $n$.", SYMMETRIC),
    (rf"{A} be symmetric (for small $n$).", SYMMETRIC),
    (rf"{A} be symmetric (up to scaling).", SYMMETRIC),
    (rf"{A} be symmetric for $n = 2$.", SYMMETRIC),
    (rf"{A} be symmetric with high probability.", SYMMETRIC),
    (rf"{A} be symmetric with one row removed.", SYMMETRIC),
    (rf"{A} be symmetric, if possible.", SYMMETRIC),
    (rf"{A} be symmetric where possible.", SYMMETRIC),
    (rf"{A} be symmetric, on average.", SYMMETRIC),
    (
        r"Let $A, C \in \mathbb{R}^{n \times n}$. Let $A$ be symmetric with respect to the inner product given by $C$.",
        SYMMETRIC,
    ),
    (r"Let $A, B \in \mathbb{R}^{n \times n}$ be diagonal with respect to different bases.", "A B = B A"),
    (r"Consider a symmetric matrix $A \in \mathbb{R}^{n \times n}$ with one entry changed.", SYMMETRIC),
    (r"Let the symmetric matrix $A \in \mathbb{R}^{n \times n}$ be changed in one entry.", SYMMETRIC),
    (rf"{P} be a probability vector with one entry removed.", ONE),
    (rf"{P} be a probability vector that is then rescaled.", ONE),
    (rf"{P} be a probability vector, with one entry set to zero.", ONE),
    (r"Consider a probability vector $p \in \mathbb{R}^n$ with one entry removed.", ONE),
    (r"Let $x \in \mathbb{R}^n$ be a unit vector, with respect to the max norm.", r"\|x\| = 1"),
    (r"Let $x \in \mathbb{R}^n$ be a vector with unit weights.", r"\|x\| = 1"),
    (rf"{XY} be positive, respectively negative.", "|x| = x"),
    (rf"{XY} be positive and negative, respectively.", "|x| = x"),
    (rf"{XY}. Suppose that $x$ is positive, which fails in practice.", "|x| = x"),
    (rf"{XY} be equal for large $n$.", "x = y"),
]
KEPT = [
    (rf"{A} be symmetric with trace $1$.", SYMMETRIC),
    (rf"{A} be symmetric and let $B \in \mathbb{{R}}^{{n \times n}}$.", SYMMETRIC),
    (rf"{A} be symmetric and positive definite.", SYMMETRIC),
    (rf"{A} be a symmetric square matrix.", SYMMETRIC),
    (rf"{A} be symmetric (that is, $A = A^\top$).", SYMMETRIC),
    (rf"{A} be symmetric for simplicity.", SYMMETRIC),
    (rf"{A} be symmetric as before.", SYMMETRIC),
    (rf"{A} be symmetric, where $n \in \mathbb{{N}}$.", SYMMETRIC),
    (rf"{A} be symmetric such that $A_{{11}} = 1$.", SYMMETRIC),
    (r"Consider a symmetric matrix $A \in \mathbb{R}^{n \times n}$ with trace one.", SYMMETRIC),
    (r"Let $A$ be a symmetric matrix.", SYMMETRIC),
    (rf"{XY} be positive, say.", "|x| = x"),
    (r"Let $x \in \mathbb{R}$ be a positive constant, e.g. a temperature.", "|x| = x"),
    (r"Let $x_1, \dots, x_n \in \mathbb{R}$ be positive for all $i$.", "|x_1| = x_1"),
    (r"Let $x \in \mathbb{R}^n$ be a vector with positive values.", "|x_1| = x_1"),
    (r"Let $x \in \mathbb{R}^n$ be a vector whose entries are positive.", "|x_1| = x_1"),
]


def verdict(words: str, step: str) -> str:
    return str(check_document(f"{words}\n\n$$ {step} $$\n", infer=True).steps[-1].verdict)


@pytest.mark.parametrize(("words", "step"), CHANGED)
def test_a_property_that_words_change_is_quoted(words: str, step: str) -> None:
    assert verdict(words, step) == "UNDECIDED"


@pytest.mark.parametrize(("words", "step"), KEPT)
def test_a_property_that_they_leave_is_read(words: str, step: str) -> None:
    assert verdict(words, step) in GOOD


@pytest.mark.parametrize(
    ("before", "after", "name", "expected"),
    [
        (" be a ", " matrix as an operator on ", "symmetric", False),
        (" be ", " in the mean.", "symmetric", False),
        (" have ", " values.", "positive", True),
        (" have ", " values.", "symmetric", False),
        (" be ", ", but only for ", "symmetric", False),
        (" be ", ", but otherwise arbitrary.", "symmetric", True),
    ],
)
def test_words_behind_a_property(before: str, after: str, name: str, expected: bool) -> None:
    assert keeps_property(before, after, name) is expected


def test_words_behind_the_symbol_of_a_property() -> None:
    assert is_changed(" matrix $$ with respect to $$.", ahead=True)
    assert not is_changed(" number $$ and a negative $$, respectively.", ahead=True)
    assert is_changed(" and negative, respectively.")
