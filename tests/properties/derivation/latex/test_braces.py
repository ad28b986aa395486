"""The arguments of commands."""

from __future__ import annotations

import pytest

from attention_core.derivation.latex.braces import read_braces
from attention_core.derivation.latex.syntax import Unreadable


@pytest.mark.parametrize(
    ("text", "inner", "end"),
    [(" {a{b}c}d", "a{b}c", 8), ("xy", "x", 1), (r"\alpha x", r"\alpha", 6), (r"{\}}", r"\}", 4)],
)
def test_the_argument_and_its_end(text: str, inner: str, end: int) -> None:
    assert read_braces(text, 0, 1) == (inner, end)


@pytest.mark.parametrize("text", ["", "  ", "{a", "{a{b}"])
def test_a_missing_argument_is_told_with_its_line(text: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read_braces(text, 0, 7)
    assert caught.value.line == 7
