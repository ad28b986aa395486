"""Relations in words between formulas, and what is said of entries, rows and columns."""

from __future__ import annotations

import pytest

from attention_core.derivation.reading.spelled_relations import spell_relations

ROWS = [
    ("Suppose \0000\0 equals \0001\0.", ["x", "y"], "x = y"),
    ("Assume \0000\0 is at most \0001\0, so", ["x", "y"], r"x \le y"),
    ("Assume that \0000\0 differs from \0001\0.", ["x", "y"], r"x \ne y"),
    ("Let \0000\0 lie strictly between \0001\0 and \0002\0.", ["x", "a", "b"], "a < x < b"),
]


@pytest.mark.parametrize("text, formulas, written", ROWS)
def test_words_between_formulas_are_relations(text: str, formulas: list[str], written: str) -> None:
    made = list(formulas)
    assert spell_relations(text, made) != text and made[-1] == written


@pytest.mark.parametrize(
    "text, formulas",
    [
        ("Suppose \0000\0 equals \0001\0 up to a sign.", ["x", "y"]),
        ("Suppose \0000\0 equals \0001\0.", ["x = 1", "y"]),
        ("Let \0000\0 lie between \0001\0 and \0002\0.", ["x", "a", "b"]),
        ("The rows of \0000\0 are positive.", ["A"]),
    ],
)
def test_what_says_more_or_less_stays_as_it_is(text: str, formulas: list[str]) -> None:
    assert spell_relations(text, list(formulas)) == text


def test_parts_of_an_array() -> None:
    assert (
        spell_relations("Let the columns of \0000\0 be orthonormal.", ["Q"]) == "Let \0000\0 has orthonormal columns."
    )
    assert spell_relations("Let each row of \0000\0 sums to one.", ["A"]) == "Let \0000\0 has rows that sum to one."
