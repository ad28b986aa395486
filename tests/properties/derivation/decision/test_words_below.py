"""Words of sections below a step count if they point back, tell what was done, or stand under a title about all."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.check import document_steps
from attention_core.derivation.decision.words_below import is_of_later_section, list_words
from attention_core.derivation.reading.step import Step

STEP = "# One\n\n$$ (a - b)^2 = a^2 - a b + b^2 $$\n\nWords.\n\nMore words.\n\n"


@pytest.mark.parametrize(
    ("below", "counts"),
    [
        ("# Two\n\nHere equality signs mean less.\n", False),
        ("Here equality signs mean less.\n", True),
        ("# Two\n\nIn all of these notes equality signs mean less.\n", True),
        ("# Two\n\nAbove, equality signs mean less.\n", True),
        ("# Two\n\nIt was assumed that equality signs mean less.\n", True),
        ("# Conventions\n\nEquality signs mean less.\n", True),
        ("# Two\n\nWords.\n\n# Notes\n\nEquality signs mean less.\n", True),
    ],
)
def test_what_a_later_section_says_counts_where_it_is_about_the_step(below: str, counts: bool) -> None:
    assert (str(check_document(STEP + below, infer=True).steps[0].verdict) == "UNDECIDED") == counts
    step = document_steps(STEP + below, infer=True)[1][0]
    assert isinstance(step, Step)
    found = [one for one in step.far_words if "mean less" in one.words]
    assert found and [one in list_words(step) for one in found] == [not is_of_later_section(step, one) for one in found]
    assert any(one in list_words(step) for one in found) == counts


@pytest.mark.parametrize(("above", "counts"), [("# Result\n\n", False), ("# Abstract\n\n", True), ("", True)])
def test_what_introduces_a_text_is_about_what_follows(above: str, counts: bool) -> None:
    text = f"{above}$$ (a - b)^2 = a^2 - 2 a b - b^2 $$\n\n# Theory\n\nAll numbers are elements of the binary field.\n"
    assert check_document(text, infer=True).steps[0].verdict == ("UNDECIDED" if counts else "REFUTED")
