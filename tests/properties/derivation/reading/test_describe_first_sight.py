"""The frozen sentences: nearly all are read, and none is taken against its author."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.properties.derivation.reading.test_properties_hypothesis_words import judge
from tests.properties.derivation_first_sight import SECOND, SENTENCES


@pytest.mark.thorough
def test_the_frozen_sentences_are_read_or_quoted() -> None:
    counts = Counter(judge(symbols, sentence, steps) for _, symbols, sentence, steps in (*SENTENCES, *SECOND))
    assert counts["against the author"] == 0
    assert counts["read"] >= 0.95 * sum(counts.values()), counts
