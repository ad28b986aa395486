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
