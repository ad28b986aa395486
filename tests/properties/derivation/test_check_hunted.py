"""Steps about factorials, recursions, Einstein sums, complex numbers and matrices, as they are written: none misjudged."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.records import GOOD, Verdict
from tests.properties.derivation_hunted import RIGHT, WRONG


def verdicts(document: str) -> dict[str, Verdict]:
    found = check_document(document, effort=Effort(seconds=4.0), infer=True).steps
    return {one.text: one.verdict for one in found}


@pytest.mark.thorough
@pytest.mark.parametrize("document", RIGHT)
def test_no_right_step_is_refuted_and_most_are_accepted(document: str) -> None:
    found = verdicts(document)
    assert Verdict.REFUTED not in found.values(), found
    assert sum(one in GOOD for one in found.values()) >= 0.75 * len(found), found


@pytest.mark.thorough
@pytest.mark.parametrize("document", WRONG)
def test_no_wrong_step_is_accepted_and_most_are_refuted(document: str) -> None:
    found = verdicts(document)
    assert not any(one in GOOD for one in found.values()), found
    assert sum(one is Verdict.REFUTED for one in found.values()) >= 0.75 * len(found), found
