"""Words that make the symbols of a sentence independent of each other, and words that speak of something else."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.reading.independence_words import says_independent

TWO, THREE = r"Let $x, y \sim \mathcal{N}(0, 1)$", r"Let $x, y, z \sim \mathcal{N}(0, 1)$"
OTHER = [
    rf"{THREE}, where $x$ and $y$ are independent of $z$.",
    rf"{THREE}, with $x$ and $y$ independent of $z$.",
    rf"{THREE}, where $x$ and $z$ are independent.",
    rf"{THREE}, where $x$ is independent of $z$.",
    rf"{TWO} be independent of the labels.",
    rf"{TWO}, where both are independent of $n$.",
    rf"{TWO} be conditionally independent given $z$.",
    rf"{TWO} be i.i.d. given $z$.",
    rf"{TWO} be linearly independent.",
]
TOGETHER = [
    rf"{TWO} be independent.",
    rf"{TWO} be independent of each other.",
    rf"{TWO}, where $x$ is independent of $y$.",
    rf"{TWO}, with $x$ independent of $y$.",
    r"Let $x \sim \mathcal{N}(0, 1)$ and $y \sim \mathcal{N}(0, 2)$, both independent.",
    r"Draw independent $x, y \sim \mathcal{N}(0, 1)$.",
    rf"{THREE}, all independent.",
]


def verdict(words: str) -> str:
    return str(check_document(f"{words}\n\n$$ \\mathbb{{E}}[x y] = 0 $$\n").steps[-1].verdict)


@pytest.mark.parametrize("words", OTHER)
def test_independence_of_something_else_is_not_assumed_of_all(words: str) -> None:
    assert verdict(words) == "UNDECIDED"


@pytest.mark.parametrize("words", TOGETHER)
def test_symbols_that_are_independent_of_each_other(words: str) -> None:
    assert verdict(words) == "PROVED"


@pytest.mark.parametrize(
    ("text", "subjects", "others", "expected"),
    [
        (" be independent across samples.", ["x", "y"], [], True),
        (" are independent.", ["x"], [], False),
        (" independent of ", ["x"], ["y"], True),
        (" independent of ", ["x"], ["z"], False),
        (" independent of ", ["x", "y"], ["y"], False),
        (" be affinely independent.", ["x", "y"], [], False),
        (" be independent only if ", ["x", "y"], [], False),
    ],
)
def test_what_words_say_of_two_symbols(text: str, subjects: list[str], others: list[str], expected: bool) -> None:
    assert says_independent(text, subjects, ["x", "y"], others) is expected
