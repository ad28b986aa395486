"""Prompts out of examples: what is a field is filled, what is a text stays what it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finetune.data.examples import Examples
from finetune.errors import BadInput
from finetune.prompting.template import TEMPLATES, Template, cut_words, template_of

PAIRS = Examples(["q one", "q two"], ["p one", "p two"], [1, 0], ("false", "true"), ["a", "b"])


def test_a_prompt_of_boolq_is_as_the_assignment_writes_it() -> None:
    prompt = TEMPLATES["boolq"].prompt(PAIRS, 1, PAIRS.take([0]))
    assert prompt == (
        "Read the passage and answer the question with True or False.\n\n"
        "Passage: p one\nQuestion: q one?\nAnswer: True\n\n"
        "Passage: p two\nQuestion: q two?\nAnswer:"
    )


@given(st.text(), st.text())
def test_braces_in_a_text_are_text(first: str, second: str) -> None:
    template = Template("", "{first}|{second}|{label}", ("a", "b"))
    wrapped = "{label}" + first + "{0.__class__}{second}"
    assert template.render(wrapped, second, "a") == f"{wrapped}|{second}|a"


@pytest.mark.parametrize("text", ["no label {first}", "{label} {first}", "{first} {label} {label}", "{label}"])
def test_a_template_without_its_fields_is_one_line(text: str) -> None:
    with pytest.raises(BadInput, match="a template has"):
        Template("", text, ("a", "b"))


@pytest.mark.parametrize("words", [("a", "A"), ("a", " a "), ("", "b"), ("a", " ")])
def test_label_words_differ_and_are_not_empty(words: tuple[str, ...]) -> None:
    with pytest.raises(BadInput, match="label word"):
        Template("", "{first} {label}", words)


def test_other_words_and_instructions_are_taken() -> None:
    template = template_of("boolq", PAIRS, ("no", "yes"), "")
    assert template.prompt(PAIRS, 0, PAIRS.take([1])).startswith("Passage: p two\nQuestion: q two?\nAnswer: no")
    with pytest.raises(BadInput, match="3 label words for 2 classes"):
        template_of("boolq", PAIRS, ("a", "b", "c"))


def test_texts_are_cut_to_words() -> None:
    assert list(cut_words(PAIRS, 1).first) == ["q", "q"]
    assert list(cut_words(PAIRS, 1).second or ()) == ["p", "p"]
    assert cut_words(PAIRS, None) is PAIRS
    assert list(cut_words(PAIRS, 9).first) == list(PAIRS.first)
