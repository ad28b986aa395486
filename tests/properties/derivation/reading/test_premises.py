"""Hypotheses as people word them: a true step is never REFUTED, and a false one is where the hypothesis is read."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import GOOD, Verdict
from tests.properties.derivation_phrasings import PHRASINGS, document

READ_AT_LEAST = 50  # of the phrasings; the others are UNDECIDED, with the words and what to write


@cache
def last(symbols: str, words: str, formula: str) -> tuple[Verdict, str]:
    report = check_document(document(symbols, words, formula))
    return report.steps[-1].verdict, report.steps[-1].evidence.text


@pytest.mark.parametrize(("symbols", "words", "formulas"), PHRASINGS, ids=[w or s for s, w, _ in PHRASINGS])
def test_a_true_step_is_not_refuted_under_a_hypothesis_in_words(
    symbols: str, words: str, formulas: tuple[str, str]
) -> None:
    (verdict, text), (wrong, _) = (last(symbols, words, formula) for formula in formulas)
    assert verdict is not Verdict.REFUTED, text
    assert wrong not in GOOD
    if verdict in GOOD:
        assert wrong is Verdict.REFUTED
    elif verdict is Verdict.UNDECIDED:
        assert "write" in text and ("was not read" in text or "was not assumed" in text)


@pytest.mark.thorough
def test_most_phrasings_are_read() -> None:
    assert len(PHRASINGS) >= 60
    found = Counter(last(*entry[:2], entry[2][0])[0] for entry in PHRASINGS)
    assert sum(found[verdict] for verdict in GOOD) >= READ_AT_LEAST, found
