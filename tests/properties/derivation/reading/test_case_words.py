"""Cases of a proof: what one assumes holds in it alone, and what a later one assumes replaces what was assumed."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.document.blocks import Paragraph
from attention_core.derivation.reading.case_words import split_label

X = "Let $x \\in \\mathbb{R}$."
FIRST = "Case 1: $x \\ge 0$."
SAME, OPPOSITE, LARGER = "$$ |x| = x $$", "$$ |x| = -x $$", "$$ |x| = \\max(x, -x) $$"
PROMISE = "All hypotheses are declared as formulas."


def verdicts(*paragraphs: str) -> list[str]:
    return [str(step.verdict) for step in check_document("\n\n".join(paragraphs) + "\n").steps]


@pytest.mark.parametrize("promise", ["", PROMISE])
def test_each_case_has_its_own_hypothesis(promise: str) -> None:
    found = verdicts(promise, X, FIRST, SAME, "**Case 2.** Suppose $x \\le 0$. Then", OPPOSITE, "$$ x = 0 $$")
    assert found == ["PROVED", "AGREES", "REFUTED"]


def test_what_is_behind_the_cases_rests_on_none_of_them() -> None:
    found = verdicts(X, FIRST, SAME, "Case 2: $x \\le 0$.", OPPOSITE, "In both cases,", SAME, LARGER)
    assert found == ["PROVED", "AGREES", "UNDECIDED", "AGREES"]


@pytest.mark.parametrize("words", ["Hence", "The proof is complete.", "Altogether,"])
def test_words_behind_the_display_of_a_case_may_close_it(words: str) -> None:
    assert verdicts(X, FIRST, SAME, words, "$$ x \\ge 0 $$")[-1] == "UNDECIDED"
    assert verdicts(X, FIRST, SAME, words, "$$ |x| \\ge 0 $$")[-1] == "PROVED"


@pytest.mark.parametrize("promise", ["", PROMISE])
@pytest.mark.parametrize("words", ["Case 2:", "Otherwise,", "In the other case,", "Case 2: the contrary."])
def test_a_case_that_is_not_written_as_a_formula_is_undecided(words: str, promise: str) -> None:
    assert verdicts(promise, X, FIRST, SAME, words, OPPOSITE, SAME) == ["PROVED", "UNDECIDED", "UNDECIDED"]


@pytest.mark.parametrize("words", ["Otherwise,", "Back to general $x$:", "In the general case,", "Otherwise we have"])
def test_words_that_end_an_assumption_end_it(words: str) -> None:
    assert verdicts(X, "Assume $x \\ge 0$. Then", SAME, words, SAME)[-1] == "UNDECIDED"
    assert verdicts(X, "Assume $x \\ge 0$. Then", SAME, words, LARGER)[-1] == "AGREES"


def test_cases_that_overlap_are_not_assumed_together() -> None:
    head = ("Let $a, b \\in \\mathbb{R}$.", "Assume $a \\ge b$. Then", "$$ \\max(a, b) = a $$")
    assert verdicts(*head, "Assume $b \\ge a$. Then", "$$ \\max(a, b) = b $$", "$$ a = b $$")[1:] == [
        "AGREES",
        "UNDECIDED",
    ]
    assert verdicts(*head, "Assume further that $b \\ge a$. Then", "$$ a = b $$")[-1] == "AGREES"
    assert verdicts(*head, "Assume $b \\ge 0$. Then", "$$ a \\ge 0 $$")[-1] == "AGREES"


@pytest.mark.parametrize(
    "text", ["In this case, we are done.", "The case for attention", "Cases are rare.", "Case studies of $x$ are rare."]
)
def test_talk_of_cases_is_no_label(text: str) -> None:
    assert split_label(Paragraph(1, text)) is None


def test_what_is_supposed_first_ends_where_something_else_is_supposed_now() -> None:
    declared, display = "Let $a, b, k \\in \\mathbb{R}$.", "$$ 2 a = 2 k $$"
    found = verdicts(declared, "Suppose first that $a = k$.", display, "Suppose now that $a = b$.", display)
    assert found == ["PROVED", "UNDECIDED"]
    found = verdicts(declared, "Suppose that $a = k$.", display, "Suppose also that $a = b$.", display)
    assert found == ["PROVED", "PROVED"]
