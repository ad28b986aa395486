r"""A step that is left open is read by its laws first, then by the equations above it; others are left alone."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.check import document_steps
from attention_core.derivation.decision.further_readings import read_further
from attention_core.derivation.effort import Effort
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import Evidence, Finding, Verdict


@pytest.mark.parametrize(
    ("display", "words"),
    [("p(x|z) p(z) = p(x, z)", "as probabilities"), ("4 a + 6 b = 14", "states above, line 3")],
)
def test_what_decides_a_step_is_named(display: str, words: str) -> None:
    report = check_document(f"We solve\n\n$$ 2 a + 3 b = 7 $$\n\nand find\n\n$$ {display} $$\n", infer=True)
    assert words in report.steps[-1].evidence.text


@pytest.mark.parametrize(
    "found",
    [
        Finding(Verdict.REFUTED, Evidence("false")),
        Finding(Verdict.UNDECIDED, Evidence("open", {"slip": "with a minus"})),
    ],
)
def test_what_is_decided_or_looks_like_a_slip_is_left_alone(found: Finding) -> None:
    def fail(*_: object) -> Finding:
        raise AssertionError("nothing is decided once more")

    (step,) = document_steps("$$ p(x|z) p(z) = p(z|x) p(x) $$\n", infer=True)[1]
    assert isinstance(step, Step) and read_further(step, found, fail, fail, Effort(seconds=1)) is found
