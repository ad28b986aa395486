"""All words of a document are kept, wherever they stand."""

from __future__ import annotations

import pytest

from attention_core.derivation.document.source import blocks_of
from attention_core.derivation.reading.step import MAX_WORDS, far_words_in


@pytest.mark.parametrize(
    "text",
    [
        "# Orthogonal vectors\n",
        "# Norm {#orthogonal-vectors}\n",
        "\\section{Norm}\\label{orthogonal-vectors}\n",
        "Some prose. All vectors are orthogonal.\n",
        "$$ a = a \\tag{orthogonal case} $$\n",
        "$$ a = a \\label{eq:orthogonal-vectors} $$\n",
        "<!-- the vectors are\northogonal -->\n",
        "\\section{Norm}\n% orthogonal vectors\n",
        "- orthogonal vectors\n",
        "[^1]: The vectors are orthogonal.\n",
    ],
)
def test_words_are_found_wherever_they_stand(text: str) -> None:
    assert any("rthogonal" in one.words for one in far_words_in(text, blocks_of(text)))


def test_what_is_not_said() -> None:
    text = "Let $orthogonal = 1$.\n\n% within: 1e-3\n$$ a = a $$\n"
    assert not any("orthogonal" in one.words or "within" in one.words for one in far_words_in(text, blocks_of(text)))


def test_long_paragraphs_are_cut() -> None:
    text = "the query " * 20_000 + "\n"
    found = far_words_in(text, blocks_of(text))
    assert max(len(one.words) for one in found) <= MAX_WORDS
    assert sum(len(one.words) for one in found) >= 0.9 * len(text)
