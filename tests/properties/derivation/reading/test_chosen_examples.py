"""What an example chooses does not outlive the example."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.document.blocks import Paragraph
from attention_core.derivation.reading.chosen_examples import Example, Examples, find_examples
from attention_core.derivation.terms.context import Context, Symbol

GOOD = ("PROVED", "EXACT", "AGREES")
SQUARE, NEXT, TRUE = "$$ n^2 = 9. $$", "$$ n + 1 = 4 $$", "$$ (n + 1)^2 = n^2 + 2 n + 1 $$"
SPOKEN = [
    "For example, let $n = 3$.",
    "Let $n = 3$, for example.",
    r"Let $n \in \mathbb{R}$. For example, let $n = 3$.",
]
LABELLED = [
    r"Let $n \in \mathbb{R}$. Say $n = 3$.",
    "Let $n = 3$, say.",
    "Example: let $n = 3$.",
    "**Example.** Let $n = 3$.",
    r"Let $n \in \mathbb{R}$. Example. Let $n = 3$.",
]
SIZE = r"Let $n \in \mathbb{N}$. For example, let $n = 3$."
ALL = ["for any $n$ we have", "For every $n$:", "For all $n$, we get", "In general,", "More generally, we have"]


def verdicts(*paragraphs: str) -> list[str]:
    return [str(one.verdict) for one in check_document("\n\n".join(paragraphs) + "\n", infer=True).steps]


@pytest.mark.parametrize("example", [*SPOKEN, *LABELLED, SIZE])
@pytest.mark.parametrize("words", ALL)
def test_words_for_all_values_end_an_example(example: str, words: str) -> None:
    found = verdicts(f"{example} Then", SQUARE, words, NEXT)
    assert found[0] in GOOD and found[1] == "UNDECIDED"
    assert verdicts(f"{example} Then", SQUARE, words, TRUE)[1] in GOOD


def test_words_for_all_values_end_it_in_its_own_paragraph() -> None:
    assert verdicts("For example, let $n = 3$. For any $n$ we have", NEXT) == ["UNDECIDED"]
    assert verdicts("For any $m$, let $f(m) = m$. For example, let $n = 3$. Then", NEXT)[-1] in GOOD


@pytest.mark.parametrize("example", SPOKEN)
@pytest.mark.parametrize("words", ["The successor of $n$ is", "Let us add one to $n$:"])
def test_a_paragraph_that_does_not_point_back_ends_an_example(example: str, words: str) -> None:
    found = verdicts(f"{example} Then", SQUARE, words, NEXT)
    assert found[0] in GOOD and found[1] == "UNDECIDED"


@pytest.mark.parametrize("example", [*SPOKEN, *LABELLED])
@pytest.mark.parametrize("words", ["Hence", "Then", "Here we get", "With this choice of $n$ we get", "and"])
def test_a_paragraph_that_points_back_goes_on(example: str, words: str) -> None:
    assert all(one in GOOD for one in verdicts(f"{example} Then", SQUARE, words, NEXT))


def test_an_example_lasts_at_least_to_its_first_display() -> None:
    assert verdicts("For example, let $n = 3$.", "The successor of $n$ is", NEXT)[0] in GOOD


@pytest.mark.parametrize("words", ["The successor of $n$ is", "Let us add one to $n$:"])
def test_a_label_opens_more_than_one_paragraph(words: str) -> None:
    assert all(one in GOOD for one in verdicts("Example: let $n = 3$. Then", SQUARE, words, NEXT))


@pytest.mark.parametrize("words", ["For any $n$ we have", "The successor of $n$ is"])
def test_what_is_no_example_lasts(words: str) -> None:
    assert all(one in GOOD for one in verdicts("Let $n = 3$. Then", SQUARE, words, NEXT))


def test_all_values_of_another_symbol_leave_it() -> None:
    found = verdicts(
        "Let $m \\in \\mathbb{R}$. For example, let $n = 3$. Then", SQUARE, "for any $m$ we have", "$$ m n = 3 m $$"
    )
    assert all(one in GOOD for one in found)


def test_the_examples_of_a_document() -> None:
    text = "Let $m > 0$. For example,\nlet $n = 3$. It is $4$, for example."
    assert find_examples([Paragraph(1, text)]) == [Example(1, 2, ("n = 3",), False)]
    assert find_examples([Paragraph(1, "Example 2. Let $n = 3$.")]) == [Example(1, 1, ("n = 3",), True)]


def test_what_is_taken_back() -> None:
    context = Context()
    context.declare(Symbol("n", "size", 1, 0))
    examples = Examples([Example(1, 1, ("n = 3",), False)])
    examples.enter(context, Paragraph(1, "Let $n = 3$."), 0)
    assert not context.caveats and examples.open
    examples.enter(context, Paragraph(3, "For any $n$ we have"), 2)
    assert [(one.names, one.since, one.ends) for one in context.caveats] == [({"n"}, 1, 1)] and not examples.open
