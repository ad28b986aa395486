"""Letters of which a sentence says something are symbols, and all others are words."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.document.blocks import Paragraph
from attention_core.derivation.effort import Effort
from attention_core.derivation.reading.typed_letters import mark_letters
from attention_core.derivation.records import GOOD


@pytest.mark.parametrize(
    ("typed", "marked"),
    [
        ("Let P be a permutation matrix.", "Let $P$ be a permutation matrix."),
        ("q and k have mean 0", "$q$ and $k$ have mean 0"),
        (
            "where B is d x r and A is r x 4",
            r"where $B \in \mathbb{R}^{d \times r}$ and $A \in \mathbb{R}^{r \times 4}$",
        ),
        ("Let z be the logits, $x$ and y one hot", "Let $z$ be the logits, $x$ and $y$ one hot"),
    ],
)
def test_letters_are_marked(typed: str, marked: str) -> None:
    assert mark_letters([Paragraph(1, typed)]) == [Paragraph(1, marked)]


@pytest.mark.parametrize(
    "text",
    [
        "I am sure that a is an article.",
        "It is a plan B for us.",
        "$z$ and the loss",
        "That's a fact. A is for apple pie.",
    ],
)
def test_words_are_not(text: str) -> None:
    marked = mark_letters([Paragraph(1, text)])
    assert marked == [Paragraph(1, text.replace("A is", "$A$ is"))]


def test_what_is_typed_is_assumed() -> None:
    text = "Equivariance: Let P be a permutation matrix.\n\n$$ P^T P V = V $$\n"
    assert check_document(text, infer=True, effort=Effort(seconds=4.0)).steps[-1].verdict in GOOD


def test_a_letter_that_no_formula_has_is_a_word() -> None:
    text = "Let $P \\in \\mathbb{R}^{n \\times n}$ be symmetric. We get dV by the product rule, where J is the Jacobian.\n\n"
    right, wrong = "$$ P^\\top = P $$\n", "Hence\n\n$$ P^2 = P $$\n"
    steps = check_document(text + right + "\n" + wrong, infer=True, effort=Effort(seconds=4.0)).steps
    assert [one.verdict in GOOD for one in steps] == [True, False]
    assert "'dV'" not in steps[-1].evidence.text


def test_plain_letters_behind_suppose_are_read() -> None:
    text = "Suppose that p is a probability vector.\n\n$$ p^\\top p \\le 1 $$\n"
    assert check_document(text, infer=True, effort=Effort(seconds=4.0)).steps[-1].verdict in GOOD
