"""What one sentence leaves open: the symbols it names, whether it leads into a display, and the words nothing read."""

from __future__ import annotations

import pytest

from attention_core.derivation.document.blocks import Paragraph, Sentence, sentences_of
from attention_core.derivation.reading.sentence_caveats import find_caveat, is_closed, is_known, names_of, was_read
from attention_core.derivation.terms.context import Context, Symbol


def sentence(text: str) -> Sentence:
    (one,) = sentences_of(Paragraph(4, text))
    return one


def context(*names: str) -> Context:
    one = Context()
    for name in names:
        one.symbols[name] = Symbol(name, "array", 1, 0)
    return one


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("The scores tie.", set()),
        (r"Here $s$ and $t_1 + a$ vanish.", {"s", "t", "a"}),
        (r"Here $n, d$ are large.", {"n", "d"}),
        (r"Here $\softmax(s$ is cut off.", {"s"}),  # single letters of what cannot be read
    ],
)
def test_names_of_a_sentence(text: str, names: set[str]) -> None:
    assert names_of(sentence(text)) >= names
    assert names or not names_of(sentence(text))


@pytest.mark.parametrize(
    ("text", "closed"),
    [("We are done.", True), ("Is $x$ small?", True), ("It follows that", False), ("So,", False), ("Done.</p>", True)],
)
def test_a_sentence_with_its_full_stop_is_closed(text: str, closed: bool) -> None:
    assert is_closed(sentence(text)) is closed


def test_words_that_nothing_read_are_left_open_for_the_symbols_of_their_sentence() -> None:
    one = sentence("The scores $s$ tie.")
    found = find_caveat(context("s", "t"), one, names_of(one), read=False)
    assert found is not None and found.names == frozenset({"s"}) and found.line == 4 and found.whole
    assert find_caveat(context("t"), one, names_of(one), read=False).names is None  # type: ignore[union-attr]


def test_a_pattern_leaves_nothing_open() -> None:
    one = sentence("Hence we have")
    assert find_caveat(context("s"), one, frozenset(), read=False, leads=True) is None


def test_a_claim_of_existence_in_front_of_a_display_leaves_it_open() -> None:
    one = sentence("There is some $a$ such that")
    found = find_caveat(context("a"), one, names_of(one), read=False, leads=True)
    assert found is not None and found.plain and found.whole and found.names is None
    assert found.words == ("there is some $$ such that",)


def test_a_quote_has_the_words_as_they_were_written() -> None:
    """ "for some" is read as "with" in a declaration; a reader still sees his own words."""
    one = sentence("Let $a$ be large for some")
    found = find_caveat(context("a"), one, names_of(one), read=True)
    assert found is not None and found.quote == "Let $a$ be large for some" and found.words == ("large",)


def test_a_reason_is_known_where_a_hypothesis_says_it() -> None:
    nothing = context("s")
    assert not is_known(nothing, "by assumption") and not is_known(nothing, "orthogonal")
    assert not was_read(nothing, sentence("Let $s$ be small."), False)
    assert was_read(nothing, sentence("Let $s$ be small."), True)
