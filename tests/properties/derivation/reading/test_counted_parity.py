"""An even integer that bounds a sum or sizes an array is a size, and the word is quoted."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.document.blocks import Paragraph
from attention_core.derivation.reading.counted_parity import find_counts, hold_parity, release_parity

GOOD = ("PROVED", "EXACT", "AGREES")


def last(head: str, formula: str) -> str:
    return str(check_document(f"{head}\n\n$$ {formula} $$\n", infer=True).steps[-1].verdict)


@pytest.mark.parametrize("word", ["even", "odd"])
def test_an_integer_that_bounds_a_sum_is_a_size(word: str) -> None:
    assert last(f"Let $n$ be an {word} integer.", r"\sum_{i=1}^n 1 = n") in GOOD
    assert last(f"Let $n$ be an {word} integer.", r"\sum_{i=1}^n 1 = n + 1") not in GOOD
    assert last(f"Let $m$ be an {word} integer.", r"m \ge 1") == "REFUTED"


@pytest.mark.parametrize(
    "text",
    [r"\sum_{i=1}^n x_i", r"\prod_{k \le n} a_k", r"x \in \mathbb{R}^{n}", r"x_1, \dots, x_n", "n!", r"\binom{n}{2}"],
)
def test_letters_that_count(text: str) -> None:
    assert "n" in find_counts([text])


def test_letters_that_do_not_count() -> None:
    assert "n" not in find_counts([r"(-1)^n = x^n + \sum_{i=1}^m i"])


def test_the_words_are_marked_and_come_back() -> None:
    blocks = [Paragraph(1, r"Let $n$ be an even integer and $x \in \mathbb{R}^n$.")]
    marked = hold_parity(blocks)
    assert marked != blocks and release_parity(marked) == blocks
    for text in (r"Let $n \in \mathbb{Z}$ be an even integer, $x \in \mathbb{R}^n$.", "Let $n$ be an even integer."):
        assert hold_parity([Paragraph(1, text)]) == [Paragraph(1, text)]
