"""Words as tokens: what is kept, what is unknown, and that a text comes back up to its white space."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finetune.data.vocabulary import PAD, PIECES, WordVocabulary
from finetune.errors import BadInput

TEXT = "The cat's hat, the mat; the cat!\nThe end."


def test_the_commonest_words_are_kept() -> None:
    words = WordVocabulary.from_text(TEXT, 3)
    assert words.words[2:] == ["The", "the", "cat's"] and len(words) == 5
    assert words.encode("the dog's cat's").tolist() == [3, 1, 4]


@given(st.text(alphabet="ab,.' \n\t", max_size=40))
def test_what_is_decoded_has_the_same_words(text: str) -> None:
    words = WordVocabulary.from_text(text, 100)
    again = words.decode(words.encode(text))
    assert PIECES.findall(again) == PIECES.findall(text) or "'" in text  # a lone apostrophe may join two words


def test_ids_and_words_that_cannot_be() -> None:
    with pytest.raises(BadInput, match="outside a vocabulary of 3"):
        WordVocabulary(["a"]).decode([3])
    for words in (["a", "a"], [PAD]):
        with pytest.raises(BadInput, match="once"):
            WordVocabulary(words)
