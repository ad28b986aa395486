"""What an example assumes ends where the text goes on to all values."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.document.blocks import Paragraph, sentences_of
from attention_core.derivation.reading.general_words import find_general, is_example, widen
from attention_core.derivation.terms.context import Context, Symbol

GOOD = ("PROVED", "EXACT", "AGREES")
TWO, SQUARE = "For example, let $x = 2$.", r"Let $A \in \mathbb{R}^{n \times n}$ be symmetric, for example."
FOUR, SYMMETRIC = "x^2 = 4", r"A^\top = A"
ENDED = [
    (rf"{TWO} In general $x$ is any real number.", FOUR),
    (rf"{TWO} In general, $x$ is arbitrary.", FOUR),
    (rf"{TWO} More generally, let $x \in \mathbb{{R}}$.", FOUR),
    (rf"{TWO} Of course $x$ may be any real number.", FOUR),
    (rf"{TWO} For a general $x$ we have", FOUR),
    (rf"{TWO} In general we have", FOUR),
    ("Let $x = 2$.\n\nNow let $x \\in \\mathbb{R}$ be arbitrary.", FOUR),
    (rf"{SQUARE} In general $A$ is any square matrix.", SYMMETRIC),
    (rf"{SQUARE} In general $A$ is arbitrary.", SYMMETRIC),
    (rf"{SQUARE} More generally, let $A \in \mathbb{{R}}^{{n \times n}}$.", SYMMETRIC),
    (r"Let $x > 0$, for example. In general $x$ is any real number.", "|x| = x"),
]
KEPT = [
    (TWO, FOUR),
    (SQUARE, SYMMETRIC),
    (rf"{TWO} In general $x$ is any real number.", "(x + 1)^2 = x^2 + 2 x + 1"),
    ("Let $x = 2$. In general, this is a small number.", FOUR),
    (r"Let $A \in \mathbb{R}^{n \times n}$ be symmetric. In general $A$ is not positive definite.", SYMMETRIC),
    (r"Let $B \in \mathbb{R}^{n \times n}$ and $M = B B^\top$. In general $M$ is not invertible.", r"M^\top = M"),
]


def verdict(words: str, step: str) -> str:
    return str(check_document(f"{words}\n\n$$ {step} $$\n", infer=True).steps[-1].verdict)


@pytest.mark.parametrize(("words", "step"), ENDED)
def test_an_example_ends_with_words_for_all_values(words: str, step: str) -> None:
    assert verdict(words, step) == "UNDECIDED"


@pytest.mark.parametrize(("words", "step"), KEPT)
def test_other_words_leave_it(words: str, step: str) -> None:
    assert verdict(words, step) in GOOD


def test_which_symbols_a_sentence_is_about() -> None:
    context = Context()
    context.declare(Symbol("x", "size", 1, 0))
    about = [
        find_general(context, sentences_of(Paragraph(2, text))[0])
        for text in ("In general $x$ is any number.", "In general $x$ is prime.", "In general $y$ is any number.")
    ]
    assert [one is not None and one.names for one in about] == [{"x"}, False, False]
    assert not is_example(context.symbols["x"]) and widen(context.symbols["x"]) == context.symbols["x"]
