"""What a reason refers to was read, or the step that it leads into is not refuted."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import Verdict

HEAD = r"Let $d \in \mathbb{N}$ and $q, k \in \mathbb{R}^d$."
FALSE = r"$$ \|q - k\|^2 = 2 - 2 q^\top k $$"
UNIT = r"$$ \|q\| = \|k\| = 1 \tag{1} $$"
TRUE = r"$$ \|q + k\|^2 = \|q\|^2 + 2 q^\top k + \|k\|^2 \tag{1} $$"


def verdict(*blocks: str) -> Verdict:
    return check_document("\n\n".join(blocks) + "\n").steps[-1].verdict


@pytest.mark.parametrize("lead", ["By (1), we get", "Substituting (1) gives", r"From \eqref{1} we obtain", "Hence"])
def test_an_equation_that_a_reason_names_may_be_a_constraint(lead: str) -> None:
    assert verdict(HEAD, "We have", UNIT, lead, FALSE) is Verdict.UNDECIDED
    assert verdict(HEAD, "We have", TRUE, lead, FALSE) is Verdict.REFUTED  # what is true restricts nothing


@pytest.mark.parametrize("lead", ["The constraint is", "Impose", "Let", "The vectors satisfy"])
def test_a_display_behind_words_that_were_not_read_may_be_a_constraint(lead: str) -> None:
    assert verdict(HEAD, lead, UNIT, "Next, we get", FALSE) is Verdict.UNDECIDED


@pytest.mark.parametrize(
    "lead", ["By Proposition 4, we have", "By (7), we get", "As before, we get", "In this setting, we get",
             "In this case, we get", "Under the same assumptions, we get"],
)  # fmt: skip
def test_what_is_not_there_was_not_read(lead: str) -> None:
    assert verdict(HEAD, lead, FALSE) is Verdict.UNDECIDED
    assert verdict(HEAD, "We get", FALSE, "by (7).") is Verdict.UNDECIDED
    assert verdict(HEAD, "By the chain rule, we get", FALSE) is Verdict.REFUTED


def test_a_lemma_of_the_document_is_looked_up() -> None:
    lemma = "**Lemma 2.** We have"
    assert verdict(HEAD, lemma, UNIT, "**Lemma 3.** By Lemma 2, we get", FALSE) is Verdict.UNDECIDED
    assert verdict(HEAD, lemma, TRUE, "**Lemma 3.** By Lemma 2, we get", FALSE) is Verdict.REFUTED
    assert verdict(HEAD, "See Lemma 9.", "We have", FALSE) is Verdict.REFUTED  # a pointer gives no reason


@pytest.mark.parametrize(
    "words", ["We have $q = k$.", r"Hence $q = 2 k$.", "- We get $q = k$.", "**Lemma 1.** We have $q = k$."]
)
def test_a_relation_that_is_claimed_above_may_be_what_a_step_rests_on(words: str) -> None:
    false = r"$$ q^\top k \ge 0 $$"
    assert verdict(HEAD, words, false) is Verdict.UNDECIDED
    assert (
        verdict(HEAD, words.replace("q = k", r"q^\top q = \|q\|^2"), r"$$ q^\top k = k^\top q + d $$")
        is Verdict.REFUTED
    )


@pytest.mark.parametrize(
    "mark",
    [r"\overset{(1)}", r"\stackrel{(7)}", r"\underset{(1)}", r"\overset{\text{(1)}}", r"\overset{(a)}", r"\overset{*}"],
)
def test_a_mark_over_a_relation_names_what_was_read(mark: str) -> None:
    over = FALSE.replace("=", mark + "{=}", 1)
    assert verdict(HEAD, "We get", over) is Verdict.UNDECIDED
    assert verdict(HEAD, "We get", r"$$ q \# k \tag{1} $$", "We get", over) is Verdict.UNDECIDED
    if "1" in mark:
        assert verdict(HEAD, "We have", UNIT, "We get", over) is Verdict.UNDECIDED
        assert verdict(HEAD, "We have", TRUE, "We get", over) is Verdict.REFUTED


def test_words_that_explain_a_mark_are_read_where_they_stand() -> None:
    over = FALSE.replace("=", r"\overset{(a)}{=}", 1)
    for behind, quoted in (("where (a) follows from the chain rule.", False), ("This is all.", True)):
        (step,) = check_document("\n\n".join((HEAD, "We get", over, behind)) + "\n").steps
        assert ("overset" in step.evidence.text) is quoted


def test_a_display_with_a_tag_that_was_not_read_leaves_its_consequence_open() -> None:
    assert verdict(HEAD, "We have", r"$$ q \# k \tag{1} $$", "By (1), we get", FALSE) is Verdict.UNDECIDED


@pytest.mark.parametrize("lead", [r"By \ref{}, we get", r"From \eqref{ } we obtain"])
def test_a_reference_without_a_name_is_read_and_restricts_no_less(lead: str) -> None:
    """An author has yet to fill it in: the step that holds is accepted, a false one is not, and unit vectors leave it open."""
    assert verdict(HEAD, lead, TRUE) in (Verdict.PROVED, Verdict.EXACT, Verdict.AGREES)
    assert verdict(HEAD, lead, FALSE) in (Verdict.UNDECIDED, Verdict.REFUTED)
    assert verdict(HEAD, "We have", UNIT, lead, FALSE) is Verdict.UNDECIDED
