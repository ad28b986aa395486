"""Topics are noun phrases of closed classes; what a symbol may be is none."""

from __future__ import annotations

import pytest

from attention_core.derivation.words.topics import is_title, is_topic, restricting_topics


@pytest.mark.parametrize("words", ["the gradient of the loss", "our main result", "layer normalization"])
def test_topics(words: str) -> None:
    assert is_topic(words)


@pytest.mark.parametrize(
    "words", ["the shared weights", "an orthogonal matrix", "the first token", "a score that is large", ""]
)
def test_what_may_restrict_is_no_topic(words: str) -> None:
    assert not is_topic(words)


def test_a_title_names_topics_and_no_conditions() -> None:
    assert all(is_title(text) for text in ("Lecture 7: the chain rule", "Notes on Adam's loss", "# Momentum"))
    assert not any(is_title(text) for text in ("Tied weights", "The case $n = 1$", "Orthogonal queries"))


def test_what_a_topic_says_of_a_symbol_comes_with_the_operations_that_make_it_so() -> None:
    (found,) = restricting_topics("The gradient of the attention weights")
    assert found[0] == "attention weights" and "softmax" in found[1]
    assert restricting_topics("The gradient of the loss") == ()


def test_how_many_parts_a_text_has_restricts_nothing() -> None:
    assert all(is_title(text) for text in ("A few sums", "Several exercises", "A handful of identities", "Two lemmas"))
    assert not any(is_title(text) for text in ("Two keys", "A few unit vectors", "Several equal scores"))


def test_names_of_losses_are_topics() -> None:
    assert all(is_title(text) for text in ("Cross entropy", "Cross-entropy loss and its gradient", "Squared error"))
    assert not any(is_title(text) for text in ("Negative entries", "Binary cross entropy", "Equal entropy"))
