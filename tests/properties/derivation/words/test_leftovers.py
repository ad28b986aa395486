"""Words that are neither read nor known to be harmless: no true step is refuted, and ordinary prose hides no error."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_core.derivation import check_document
from attention_core.derivation.records import StepReport, Verdict
from attention_core.derivation.words.inert import BARE_RELATION, BARE_SIGN, NO_RELATION
from attention_core.derivation.words.leftovers import left_over
from tests.properties.derivation_leftovers import AGAINST, AROUND, LEADING, ORDINARY, STATEMENTS

VECTORS = r"Let $n \in \mathbb{N}$ and $x, y \in \mathbb{R}^n$."


def last(before: str, display: str, behind: str = "") -> StepReport:
    return check_document(f"{before}\n\n$$ {display} $$\n\n{behind}\n").steps[-1]


@pytest.mark.parametrize(("before", "display", "behind"), AROUND, ids=[a or b for _, a, b in AROUND])
def test_no_true_step_is_refuted_under_words_around_it(before: str, display: str, behind: str) -> None:
    found = last(before, display, behind)
    assert found.verdict is not Verdict.REFUTED, found.evidence.text


@pytest.mark.parametrize(("symbols", "words", "display"), LEADING, ids=[words for _, words, _ in LEADING])
def test_no_true_step_is_refuted_under_words_that_lead_into_it(symbols: str, words: str, display: str) -> None:
    for before in (f"{symbols}\n\n{words}", f"{symbols} {words}"):
        found = last(before, display)
        assert found.verdict is Verdict.UNDECIDED, found.evidence.text
        assert "write" in found.evidence.text and "as it was read" in found.evidence.text


@pytest.mark.parametrize("words", ORDINARY)
def test_ordinary_prose_hides_no_error(words: str) -> None:
    assert left_over(re.split(r"\$", words)) == ()
    assert last(f"{VECTORS}\n\n{words}", r"x^\top y = x^\top y + 1").verdict is Verdict.REFUTED


@pytest.mark.parametrize("words", STATEMENTS)
def test_a_statement_of_harmless_words_leaves_a_false_step_undecided(words: str) -> None:
    assert left_over(re.split(r"\$", words)) == ()
    found = last(f"{VECTORS}\n\n{words}", r"x^\top y = x^\top x")
    assert found.verdict is Verdict.UNDECIDED
    assert words.split("$")[0].rstrip(" .") in found.evidence.text and " is not " in found.evidence.text
    slip = last(f"{VECTORS}\n\n{words}", r"x^\top y = x^\top y + 1").verdict
    assert slip is (Verdict.UNDECIDED if " not " in words else Verdict.REFUTED)  # where it is not denied
    promise = "All hypotheses are declared as formulas.\n\n"
    assert last(f"{promise}{VECTORS}\n\n{words}", r"x^\top y = x^\top x").verdict is Verdict.REFUTED


@pytest.mark.parametrize(("before", "display", "behind"), AGAINST, ids=[f"{a} {b}" for a, _, b in AGAINST])
def test_no_true_step_is_refuted_under_words_chosen_against_the_list(before: str, display: str, behind: str) -> None:
    found = last(before, display, behind)
    assert found.verdict is not Verdict.REFUTED, found.evidence.text


def test_the_words_are_quoted_with_the_counterexample_and_what_to_write() -> None:
    text = last(r"Let $x, y \in \mathbb{R}$ agree in sign.", r"x y \ge 0").evidence.text
    assert "'agree', 'sign' were not read (line 1: " in text
    assert "write it with formulas after 'Assume'" in text and "All hypotheses are declared as formulas." in text
    assert "at x = -1, y = 1" in text


@given(
    st.text(alphabet="ab 1\\{}()<>=!|^_-'\u2264\u2265\u2260\u2208\u22a5\u2286", max_size=12)
    | st.from_regex(BARE_RELATION)
)
def test_prose_without_a_sign_has_no_relation(text: str) -> None:
    if BARE_RELATION.search(NO_RELATION.sub(" ", text)):
        assert BARE_SIGN.search(text)
