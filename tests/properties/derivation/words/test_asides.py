"""Labels of list items, and what is said around mathematics."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.records import Verdict
from attention_core.derivation.words.asides import without_item_label

HEAD = r"Let $n \in \mathbb{N}$ and $x, y \in \mathbb{R}^n$."
FALSE = r"$$ x^\top y = x^\top y + n $$"


@pytest.mark.parametrize(
    ("text", "bare"),
    [("(a) I get", "I get"), ("2. Hence", "Hence"), ("iv) then", "iv) then"), ("a vector", "a vector")],
)
def test_labels(text: str, bare: str) -> None:
    assert without_item_label(text) == bare


@pytest.mark.parametrize(
    ("words", "refuted"),
    [
        ("(a) I get", True),
        ("1. Bernoulli and friends:", True),
        ("1. Cauchy and friends of equal length:", False),
        ("(b) By symmetry,", False),
    ],
)
def test_items_of_lists(words: str, refuted: bool) -> None:
    report = check_document(f"{HEAD}\n\n{words}\n\n{FALSE}\n", effort=Effort(seconds=3.0))
    assert (report.steps[-1].verdict is Verdict.REFUTED) == refuted
