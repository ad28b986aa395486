"""attention_core.derivation.decision.held_fixed: what a sentence says that varies is not held fixed."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort


def verdict(words: str, step: str) -> str:
    text = f"We take differentials. Let $Y = A X$. {words}\n\n$$ {step} $$\n"
    return str(check_document(text, infer=True, effort=Effort(seconds=2)).steps[-1].verdict)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", "EXACT"),
        ("Here $A$ varies and $X$ is constant.", "UNDECIDED"),
        ("Both $A$ and $X$ vary.", "UNDECIDED"),
        ("Here $A$ is held fixed and $X$ varies.", "EXACT"),
        ("The sign of $B$ varies.", "EXACT"),
    ],
)
def test_what_varies_by_words_is_not_held_fixed(words: str, expected: str) -> None:
    assert verdict(words, r"dY = A \, dX") == expected


def test_with_all_its_terms_it_holds_whatever_varies() -> None:
    assert verdict("Both $A$ and $X$ vary.", r"dY = dA \, X + A \, dX") == "EXACT"


def test_what_varies_says_nothing_of_a_step_without_differentials() -> None:
    assert verdict("Here $A$ varies.", "A X + A X = 2 A X") == "PROVED"
