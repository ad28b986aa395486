r"""Notations in which an equation of numbers says something else than that two calculations have one result."""

from __future__ import annotations

import pytest

from attention_core.derivation.check import check_document, document_steps
from attention_core.derivation.decision.other_notations import is_written_otherwise, name_notation
from attention_core.derivation.reading.step import Step


def read(formula: str) -> Step:
    step = document_steps(f"$$ {formula} $$\n", infer=True)[1][0]
    assert isinstance(step, Step)
    return step


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        (r"17 \% 5 = 2", "remainder"),
        (r"15 \% (7 - 3) = 3", "remainder"),
        (r"50 \% = 0.4", ""),
        (r"2 \times 1.234(5) = 2.468(10)", "error"),
        (r"2 \times 1.234 (1 + 1) = 2.468", ""),
        ("(12)(13) = (132)", "cycles"),
        ("(243) = (24)(43)", "cycles"),
        ("(123)^{-1} = (132)", "cycles"),
        ("2 (13) = (27)", ""),
        ("(22)(13) = (287)", ""),  # a cycle moves no number twice
        (r"12 + 8 = 20 / 4 = 5 + 1 = 6", "running total"),
        (r"12 + 8 = 21 / 4 = 5 + 1 = 6", ""),
        (r"12 + 8 = 20 + 15", ""),  # without a result
        ("13 = 1101", ""),  # by words alone
    ],
)
def test_a_notation_shows_itself(formula: str, words: str) -> None:
    assert words in name_notation(read(formula)) and bool(words) == bool(name_notation(read(formula)))


@pytest.mark.parametrize(
    ("formula", "otherwise"),
    [
        ("13 = 1101", True),
        ("20 = -4", True),
        ("13 = 12 + 2", False),
        ("2^{53} + 1 = 2^{53}", True),  # of machine numbers
        ("2^{53} + 1 = 2^{52}", False),
        ("100352 + 129 = 100352 + 128", False),
        ("2^3 + 1 = 2^3", False),  # not small beside it
    ],
)
def test_numerals_and_lost_numbers_are_written_otherwise(formula: str, otherwise: bool) -> None:
    assert is_written_otherwise(read(formula)) is otherwise


@pytest.mark.parametrize(
    ("formula", "verdict"),
    [
        ("25 \\times 4 = 100 - 17 = 83", "UNDECIDED"),
        ("25 \\times 4 = 101 - 17 = 84", "REFUTED"),
        ("13 = 14", "REFUTED"),
    ],
)
def test_what_shows_itself_is_not_refuted_without_words(formula: str, verdict: str) -> None:
    assert check_document(f"# Example\n\n$$ {formula} $$\n", infer=True).steps[0].verdict == verdict
