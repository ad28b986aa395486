"""Which sections hold for those behind them: assumptions and notation, prose without a display, and no example."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import Verdict

HEAD = r"Let $d \in \mathbb{N}$ and $q, k \in \mathbb{R}^d$."
FALSE = r"$$ \|q - k\|^2 = 2 - 2 q^\top k $$"
UNIT = "All vectors have unit norm."


def verdict(*blocks: str) -> Verdict:
    return check_document("\n\n".join(blocks) + "\n").steps[-1].verdict


def test_a_task_is_about_itself_unless_it_points_back() -> None:
    frobs = "All vectors are frobnicated."
    for words, expected in ((frobs, Verdict.REFUTED), (f"As above, {frobs.lower()}", Verdict.UNDECIDED)):
        assert verdict("## Problem 1", HEAD, FALSE, "## Problem 2", "### Problem 2(a)", words) is expected
        assert verdict("## Lengths", HEAD, FALSE, "## Remarks", words) is Verdict.UNDECIDED


def test_a_sentence_of_a_later_section_may_be_about_symbols_that_nothing_declares() -> None:
    display = r"$$ \sum_{j=1}^n (x_j + c) = \sum_{j=1}^{n-1} x_j + n c $$"
    for words, expected in (("Frobs of $x_j$ come first.", "UNDECIDED"), ("Frobs of $z$ come first.", "REFUTED")):
        text = f"# Claim\n\nNow we find\n\n{display}\n\n# Summary\n\n{words}\n"
        assert check_document(text, infer=True).steps[-1].verdict == expected


@pytest.mark.parametrize(
    "blocks",
    [
        ("# Attention", HEAD, "## Assumptions", UNIT, "## Distance", FALSE),
        ("# Setting", UNIT, "# Distance", HEAD, FALSE),
        ("# Attention", HEAD, "## Assumption 1", UNIT, "$$ d = d $$", "## Distance", FALSE),
        ("# Attention", HEAD, "## Queries", UNIT, "## Distance", FALSE),  # a section of prose
        (
            "# Attention",
            HEAD,
            "## Queries",
            f"Throughout this note, {UNIT.lower()}",
            "$$ d = d $$",
            "## Distance",
            FALSE,
        ),
        ("# Attention", HEAD, "## Queries", r"Assume $\|q\| = \|k\| = 1$.", "## Distance", FALSE),
    ],
)
def test_words_of_a_section_that_is_written_for_others_count_there(blocks: tuple[str, ...]) -> None:
    assert verdict(*blocks) is Verdict.UNDECIDED


@pytest.mark.parametrize(
    "blocks",
    [
        ("# Attention", HEAD, "## Example", UNIT, "$$ d = d $$", "## Distance", FALSE),
        (
            "# Attention",
            "## Sizes",
            "$$ 1 = 1 $$",
            UNIT,
            "## Distance",
            HEAD,
            FALSE,
        ),  # of symbols that are declared later
        ("# Lecture 1", "$$ 1 = 1 $$", HEAD, "## Assumptions", UNIT, "# Lecture 2", HEAD, FALSE),  # of another chapter
    ],
)
def test_words_of_other_sections_count_only_for_steps_that_hold_under_them(blocks: tuple[str, ...]) -> None:
    assert verdict(*blocks) is Verdict.UNDECIDED
    assert verdict(*blocks[:-1], FALSE.replace("2 -", "3 -", 1)) is Verdict.REFUTED


def test_what_is_declared_in_a_section_of_assumptions_holds_behind_it() -> None:
    declared = HEAD.replace(".", r" with $\|q\| = \|k\| = 1$.")
    said = ("# Attention", "## 1. Notation and assumptions", declared, "### Sizes", r"Let $m \in \mathbb{N}$.")
    assert verdict(*said, "## Distance", FALSE.replace("2 -", "m + 2 - m -", 1)) is not Verdict.UNREADABLE
    assert verdict(*said, "## Distance", FALSE) in (Verdict.PROVED, Verdict.EXACT, Verdict.AGREES)
    assert verdict(*said, "# Another note", FALSE) is Verdict.UNREADABLE


def test_words_that_speak_of_all_notes_reach_symbols_that_are_declared_later() -> None:
    words = "In these notes, lengths survive the matrix."
    blocks = ("# Introduction", words, "$$ 1 = 1 $$", "# Computation", HEAD, r"$$ \|q\| = \|q + k\| $$")
    assert verdict(*blocks) is Verdict.UNDECIDED


MATRICES = r"Let $n \in \mathbb{N}$ and $A, B \in \mathbb{R}^{n \times n}$."
COMMUTING = r"$$ (A + B)^2 = A^2 + 2 A B + B^2 $$"
WORDS = "It never matters who goes first."


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        (("# Story", WORDS, "# Claim", MATRICES, COMMUTING), Verdict.UNDECIDED),
        (("# Story", WORDS, "$$ 1 = 1 $$", "Fine.", "# Claim", MATRICES, COMMUTING), Verdict.UNDECIDED),
        (("# Claim", MATRICES, COMMUTING, "This is the claim.", WORDS), Verdict.UNDECIDED),
        (("# Claim", MATRICES, COMMUTING, "# Summary", WORDS), Verdict.UNDECIDED),
        (("# Claim", MATRICES, "## Square", COMMUTING, "# Remarks", "## One", WORDS), Verdict.UNDECIDED),
        (("# Claim", MATRICES, COMMUTING, "# References", WORDS), Verdict.REFUTED),
        (("# Claim", MATRICES, COMMUTING, "# Summary", "Thanks for reading!"), Verdict.REFUTED),
        (("# Introduction", "The softmax is used in attention.", "# Claim", MATRICES, COMMUTING), Verdict.REFUTED),
    ],
)
def test_words_before_the_first_display_and_in_sections_without_one_may_be_about_all(
    blocks: tuple[str, ...], expected: Verdict
) -> None:
    steps = check_document("\n\n".join(blocks) + "\n").steps
    (step,) = (one for one in steps if one.text != "1 = 1")
    assert step.verdict is expected, step.evidence.text


def test_a_declaration_that_ended_with_its_section_is_named_with_the_way_out() -> None:
    head = "## Setup of M\n\nLet $n \\in \\mathbb{N}$ and $M \\in \\mathbb{R}^{n \\times n}$ with $M^\\top = M$.\n\n"
    below = "## Products\n\n$$ M^\\top M = M^2 $$\n\nLet $z \\in \\mathbb{R}^n$.\n\n$$ z = z $$\n"
    way_out = "above their headings, or under a heading 'Notation'"
    texts = [one.evidence.text for one in check_document(head + below).steps]
    assert texts[0].startswith("M is not declared any more: the section 'Setup of M' of its declaration in line 3 has")
    assert texts[1].startswith("n is not a size any more: the section 'Setup of M'")
    assert all(way_out in text for text in texts[:2])
    inferred = check_document(head + below, infer=True).steps[0]
    assert inferred.verdict is Verdict.UNDECIDED
    assert "declarations end with their section" in inferred.evidence.text and way_out in inferred.evidence.text
    assert "M as in line 3 (its section 'Setup of M' has ended)" in inferred.evidence.text
    named = check_document(head.replace("Setup of M", "Notation") + below).steps
    assert all(one.verdict not in (Verdict.UNREADABLE, Verdict.REFUTED) for one in named)
