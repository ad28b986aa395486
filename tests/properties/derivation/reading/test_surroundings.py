"""What words around a formula say of it."""

from __future__ import annotations

import re

import pytest

from attention_core.derivation.reading.assuming import Standing
from attention_core.derivation.reading.surroundings import Surroundings, surroundings_of


def around(text: str) -> Surroundings:
    """What the words of a text say of its first formula."""
    return surroundings_of(tuple(re.split(r"\$", text)))[1]


@pytest.mark.parametrize(
    "text, standing, stands, meant, arrays",
    [
        ("Assume $x > 0$.", Standing.ASSUMED, True, True, False),
        ("We assume that $x > 0$ throughout.", Standing.ASSUMED, True, True, False),
        ("Often $x > 0$.", Standing.SAID, True, False, False),
        ("Assume the contrary of $x > 0$.", Standing.SAID, False, False, False),
        ("Assume $x > 0$, which fails.", Standing.ASSUMED, False, True, False),
        ("Assume $x > 0$ is too strong.", Standing.SAID, True, False, False),
        (r"Let $x \ne 0$ be a vector.", Standing.ASSUMED, True, False, True),
        (r"Let $x \ne 0$ in $\mathbb{R}^n$.", Standing.ASSUMED, True, False, True),
        (r"Let $x \ne 0$ and $y \ne 0$ be vectors.", Standing.ASSUMED, True, False, True),
        (r"Let $x \ne 0$ be a number.", Standing.ASSUMED, True, False, False),
    ],
)
def test_what_is_said_of_the_first_formula(
    text: str, standing: Standing, stands: bool, meant: bool, arrays: bool
) -> None:
    found = around(text)
    assert (found.standing, found.stands, found.meant, found.arrays) == (standing, stands, meant, arrays)


def test_the_words_before_are_those_of_the_sentence() -> None:
    one, other = surroundings_of(("Let ", "n", " be a size. Now assume that ", "x > 0", "."))[1::2]
    assert (one.behind, one.clause) == ("Let", "Let")
    assert (other.behind, other.clause) == ("Now assume that", "Now assume that")
