"""The frozen sentences: nearly all are read, and none is taken against its author."""

from __future__ import annotations

from collections import Counter

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.records import GOOD, Verdict
from tests.properties.derivation.reading.test_properties_hypothesis_words import judge
from tests.properties.derivation_declaring import FIFTH, SEVENTH, SIXTH
from tests.properties.derivation_first_sight import SECOND, SENTENCES
from tests.properties.derivation_sentences import EIGHTH, NINTH


@pytest.mark.thorough
def test_the_frozen_sentences_are_read_or_quoted() -> None:
    counts = Counter(judge(symbols, sentence, steps) for _, symbols, sentence, steps in (*SENTENCES, *SECOND))
    assert counts["against the author"] == 0
    assert counts["read"] >= 0.95 * sum(counts.values()), counts


def judge_declaring(above: str, sentence: str, right: str, wrong: str) -> str:
    """What becomes of the two steps under a sentence that declares as well; the false one is claimed, behind a full stop."""
    claim = "Hence\n\n" if sentence.rstrip().endswith((".", ".)")) else ""
    found = [
        check_document(f"{above}\n\n{sentence}\n\n{lead}$$ {step} $$\n", infer=True, effort=Effort(seconds=4.0)).steps[
            -1
        ]
        for lead, step in (("", right), (claim, wrong))
    ]
    verdicts = [one.verdict for one in found]
    if verdicts[0] in (Verdict.REFUTED, Verdict.VACUOUS) or verdicts[1] in (*GOOD, Verdict.VACUOUS):
        return "against the author"
    return "read" if verdicts[0] in GOOD and verdicts[1] is Verdict.REFUTED else "quoted"


@pytest.mark.thorough
def test_sentences_that_declare_at_once_are_read_or_quoted() -> None:
    for rows, least in ((FIFTH, 77), (SIXTH, 47), (SEVENTH, 41), (EIGHTH, 48), (NINTH, 23)):
        counts = Counter(judge_declaring(*row) for row in rows)
        assert counts["against the author"] == 0
        assert counts["read"] >= least, counts


@pytest.mark.parametrize(
    "words",
    [
        r"Let at least one of $x, y \in \mathbb{R}$ be positive.",
        r"Let $x, y \in \mathbb{R}$. Assume that one of $x$ and $y$ is positive.",
        r"Let $x, y \in \mathbb{R}$. Assume that either of $x$ and $y$ is positive.",
    ],
)
def test_what_is_said_of_one_of_several_is_not_assumed_of_each(words: str) -> None:
    assert check_document(f"{words}\n\n$$ x + y > 0 $$\n").steps[-1].verdict is Verdict.UNDECIDED
    both = words.replace("at least one of", "both of").replace("one of", "both of").replace("either of", "both of")
    assert check_document(f"{both.replace(' is ', ' are ')}\n\n$$ x + y > 0 $$\n").steps[-1].verdict in GOOD
