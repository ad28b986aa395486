"""Words for hypotheses in three sentences each: read as meant or quoted, and never against the author."""

from __future__ import annotations

from collections import Counter

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.records import GOOD, Verdict
from tests.properties.derivation_words import sentences

READ_AT_LEAST = 0.95  # of the sentences; the rest is quoted, and its steps are not decided against the author


def judge(symbols: str, sentence: str, steps: tuple[str, str]) -> str:
    """What becomes of the right and of the wrong step under a sentence."""
    right, wrong = (
        check_document(f"{symbols}\n\n{sentence}\n\n$$ {one} $$\n", effort=Effort(seconds=4.0)).steps[-1].verdict
        for one in steps
    )
    if right is Verdict.REFUTED or wrong in GOOD:
        return "against the author"
    return "read" if right in GOOD and wrong is Verdict.REFUTED else "quoted"


@pytest.mark.thorough
def test_most_sentences_are_read_as_meant_and_none_against_the_author() -> None:
    found = {(words, sentence): judge(symbols, sentence, steps) for words, symbols, sentence, steps in sentences()}
    counts = Counter(found.values())
    assert counts["against the author"] == 0, [one for one, what in found.items() if what == "against the author"]
    assert len({words for words, _ in found}) >= 100 and len(found) >= 300
    assert counts["read"] >= READ_AT_LEAST * len(found), [one for one, what in found.items() if what == "quoted"]


@pytest.mark.parametrize(
    "words", ["a unit vector", "one-hot", "positive semidefinite", "invertible", "doubly stochastic", "equal"]
)
def test_some_words_are_read_in_every_sentence(words: str) -> None:
    for _, symbols, sentence, steps in (one for one in sentences() if one[0] == words):
        assert judge(symbols, sentence, steps) == "read", sentence
