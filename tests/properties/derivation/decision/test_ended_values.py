"""What holds by a number, or by an example, of a section that has ended is not accepted by it."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import GOOD, Verdict


@pytest.mark.parametrize(
    ("above", "formula"),
    [
        ("# Numbers\n\nLet $a = 2$ and $b = 3$.", "a b + 1 = 7"),
        ("# Exercise 1\n\nPut $x = 3$.", "x + 6 = 9"),
        ("# Example\n\n$$ y = 3 q + 1 $$\n\n$$ y + q = 4 q + 1 $$", "y - 1 = 3 q"),
    ],
)
def test_a_value_of_an_ended_section_accepts_nothing(above: str, formula: str) -> None:
    for title, accepted in (("# Theory\n\n", False), ("", True)):
        step = check_document(f"{above}\n\n{title}So\n\n$$ {formula} $$\n", infer=True).steps[-1]
        assert (step.verdict in GOOD) is accepted, step.evidence.text
        assert accepted or (step.verdict is Verdict.UNDECIDED and "in a section that has ended" in step.evidence.text)


@pytest.mark.parametrize(
    ("above", "formula"),
    [
        ("# Numbers\n\nLet $a = 2$ and $b = 3$.", "a b + a = a (b + 1)"),  # it holds without
        ("# Model\n\n$$ y = 3 q + 1 $$\n\n$$ y + q = 4 q + 1 $$", "y - 1 = 3 q"),  # notation is kept
    ],
)
def test_what_holds_without_and_notation_are_accepted(above: str, formula: str) -> None:
    step = check_document(f"{above}\n\n# Theory\n\nSo\n\n$$ {formula} $$\n", infer=True).steps[-1]
    assert step.verdict in GOOD
