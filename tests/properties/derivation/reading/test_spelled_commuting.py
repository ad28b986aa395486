"""Matrices that commute with another one commute with that one, and not with each other."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.reading.spelled_commuting import spell_commuting

ABC = r"Let $A, B, C \in \mathbb{R}^{n \times n}$."
WITH_C = [
    rf"{ABC} Suppose $A$ and $B$ commute with $C$.",
    rf"{ABC} Suppose both $A$ and $B$ commute with $C$.",
    rf"{ABC} Suppose that $A$, $B$ commute with $C$.",
    rf"{ABC} Suppose $C$ commutes with $A$ and $B$.",
    r"Let $C \in \mathbb{R}^{n \times n}$ and let $A, B \in \mathbb{R}^{n \times n}$ be symmetric matrices that "
    r"commute with $C$.",
]
UNREAD = [
    r"Let $A, B \in \mathbb{R}^{n \times n}$ be symmetric matrices that commute with a third matrix.",
    r"Let $A, B \in \mathbb{R}^{n \times n}$ be matrices commuting with all diagonal matrices.",
    rf"{ABC} Suppose $A$ and $B$ do not commute with $C$.",
    rf"{ABC} Suppose $A$ and $B$ commute with $C$ up to a sign.",
    rf"{ABC} Suppose neither $A$ nor $B$ commute with $C$.",
    rf"{ABC} Suppose $A$ or $B$ commutes with $C$.",
]
TOGETHER = [
    rf"{ABC} Suppose $A$ and $B$ commute.",
    rf"{ABC} Suppose $A$ and $B$ commute with each other.",
    rf"{ABC} Suppose $A$ commutes with $B$.",
    r"Let $A, B \in \mathbb{R}^{n \times n}$ be symmetric matrices that commute.",
]
GOOD = ("PROVED", "EXACT", "AGREES")


def verdict(words: str, step: str) -> str:
    return str(check_document(f"{words}\n\n$$ {step} $$\n", infer=True).steps[-1].verdict)


@pytest.mark.parametrize("words", WITH_C)
def test_what_commutes_with_another_matrix_commutes_with_that_one(words: str) -> None:
    assert verdict(words, "A C = C A") in GOOD
    assert verdict(words, "(A + B) C = C (A + B)") in GOOD
    assert verdict(words, "A B = B A") == "REFUTED"


@pytest.mark.parametrize("words", UNREAD)
def test_other_words_behind_with_leave_the_sentence_unread(words: str) -> None:
    assert verdict(words, "A B = B A") == "UNDECIDED"


@pytest.mark.parametrize("words", TOGETHER)
def test_matrices_that_commute_with_each_other(words: str) -> None:
    assert verdict(words, "A B = B A") in GOOD


@pytest.mark.parametrize(
    ("text", "formulas", "written"),
    [
        ("Let \0000\0 commute with \0001\0.", ["A", "B + C"], "A (B + C) = (B + C) A"),
        ("Let \0000\0 commute with \0001\0 and \0002\0, and", ["A", "B", "C"], "A B = B A, A C = C A"),
        ("If \0000\0 commutes with \0001\0 and \0002\0 is", ["A", "B", "C"], "A B = B A"),
        ("Let \0000\0 commute with \0001\0.", ["A", r"A^\top"], r"A A^\top = A^\top A"),
    ],
)
def test_products_in_two_orders(text: str, formulas: list[str], written: str) -> None:
    made = list(formulas)
    assert spell_commuting(text, made) != text and made[-1] == written


@pytest.mark.parametrize(
    ("text", "formulas"),
    [
        ("Let \0000\0 commute with \0001\0 in the limit.", ["A", "B"]),
        ("Let \0000\0 commute with \0001\0.", ["A", r"C \in S"]),
        ("Let \0000\0 commute with \0001\0.", ["A B", "C"]),
        ("Let \0000\0 be one that does not commute with \0001\0.", ["A", "C"]),
    ],
)
def test_other_sentences_stay(text: str, formulas: list[str]) -> None:
    assert spell_commuting(text, list(formulas)) == text
