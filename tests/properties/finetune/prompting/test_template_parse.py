"""Labels out of words: every usual form of an answer is read, what is not clear is not guessed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finetune.prompting.template import YES_NO, parse_label

WORDS = ("False", "True")


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        ("True", 1), (" true.", 1), ("\n\nFalse\nbecause it is", 0), ('"False"', 0), ("The answer is True.", 1),
        ("**True**", 1), ("TRUE!", 1), ("Answer: false", 0), ("yes", 1), ("No, it is not.", 0), ("yes.", 1),
        ("", None), ("   ", None), ("perhaps", None), ("True or False", None), ("not true", None), ("It isn't true", None),
        ("That wasn't true", None),
        ("They aren’t true", None),
        ("It cannot be true", None),
        ("doesn't seem true", None),
        ("untrue", None), ("Truely", None), ("True\nFalse", 1), ("I do not know", None), ("never false", None),
    ],
)  # fmt: skip
def test_an_answer_is_read_as_it_is_meant(answer: str, label: int | None) -> None:
    assert parse_label(answer, WORDS, YES_NO) == label


def test_the_longer_of_two_words_is_read() -> None:
    assert parse_label("Health Care", ("Health", "Health Care")) == 1
    assert parse_label("Health", ("Health", "Health Care")) == 0


@given(
    st.sampled_from(WORDS),
    st.sampled_from(["", " ", "\n", '"', "Answer: "]),
    st.sampled_from(["", ".", "!", '"', "\n"]),
)
def test_form_does_not_matter(word: str, before: str, after: str) -> None:
    for text in (word, word.upper(), word.lower()):
        assert parse_label(before + text + after, WORDS) == WORDS.index(word)


@given(st.text())
def test_any_text_gives_a_class_or_none(text: str) -> None:
    assert parse_label(text, WORDS, YES_NO) in (None, 0, 1)


@pytest.mark.parametrize("word", ["a.b", "C++", "(x)", "$1"])
def test_signs_in_a_word_are_signs(word: str) -> None:
    assert parse_label(f" {word} ", (word, "other")) == 0
