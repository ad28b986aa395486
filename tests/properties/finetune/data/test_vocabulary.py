"""The character vocabulary.

finetune.data.vocabulary: ids as the assignment numbers them, a round trip, and reserved or unknown characters.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finetune.data.vocabulary import MASK, PAD, Vocabulary
from finetune.errors import BadInput

TEXT = st.text(st.characters(exclude_characters=PAD + MASK, exclude_categories=["Cs"]), max_size=40)


def test_ids_are_numbered_as_in_the_assignment() -> None:
    text = "wo war Zoë?\nüber 東京 𝄞"
    skeleton = [PAD, MASK, *sorted(set(text))]
    vocabulary = Vocabulary.from_text(text)
    assert vocabulary.characters == skeleton and len(vocabulary) == len(skeleton)
    assert vocabulary.encode(text).tolist() == [skeleton.index(c) for c in text]
    assert vocabulary.encode(PAD + MASK).tolist() == [0, 1]


@given(TEXT)
def test_decoding_undoes_encoding(text: str) -> None:
    vocabulary = Vocabulary(text)
    ids = vocabulary.encode(text)
    assert vocabulary.decode(ids) == text and ids.min(initial=2) >= 2


@given(st.lists(TEXT, max_size=6))
def test_a_batch_is_its_texts_and_padding(texts: list[str]) -> None:
    vocabulary = Vocabulary("".join(texts))
    ids, lengths = vocabulary.encode_batch(texts)
    assert ids.shape == (len(texts), max(map(len, texts), default=0))
    for row, length, text in zip(ids, lengths, texts, strict=True):
        assert length == len(text) and (row[:length] == vocabulary.encode(text)).all() and (row[length:] == 0).all()


@pytest.mark.parametrize(("character", "name"), [(PAD, "U+25A1"), (MASK, "U+2047")])
def test_reserved_characters_are_refused_with_their_line(character: str, name: str) -> None:
    with pytest.raises(BadInput, match=rf"wiki, line 2: .*{name.replace('+', '.')}.*reserved"):
        Vocabulary.from_text(f"one\ntwo {character}\n", "wiki")
    with pytest.raises(BadInput, match="reserved"):
        Vocabulary(["a", character])


def test_unknown_characters_and_ids_are_refused() -> None:
    with pytest.raises(BadInput, match=r"'z' \(U\+007A\) at place 1 of 'az' is not in the vocabulary"):
        Vocabulary("abc").encode("az")
    with pytest.raises(BadInput, match="not in the vocabulary"):
        Vocabulary("").encode("a")
    with pytest.raises(BadInput, match=r"^text 3: 'z' \(U\+007A\) at place 1 of 'az'"):
        Vocabulary("abc").encode_batch(["a" * 100, "b", "az", "z"])
    with pytest.raises(BadInput, match=r"at place 70 of 'a{40}za{19}'"):  # what stands around it
        Vocabulary("abc").encode("a" * 70 + "z" + "a" * 70)
    with pytest.raises(BadInput, match="id 9 is outside a vocabulary of 5"):
        Vocabulary("abc").decode(np.array([9]))


def test_equality_is_by_value() -> None:
    assert Vocabulary("ab") == Vocabulary("ba") != Vocabulary("abc")
