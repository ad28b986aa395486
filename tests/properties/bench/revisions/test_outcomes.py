"""What a comparison of revisions found, its exit status, and its JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from attention_core.bench.revisions.outcomes import UNJUDGED, Comparison, Outcome, Revision
from attention_core.bench.revisions.rounds import RoundTimes, compare_rounds
from attention_core.declaration.implementation import TargetError
from attention_core.report_page.schemas import read_schema

BASE, HEAD = Revision("main", "a" * 40), Revision("the working tree", "b" * 40 + "+")


def outcome(kernel: str, log: float, spread: float = 1e-4) -> Outcome:
    found = Outcome(kernel, "B=1 H=2 n=8 d=4 float32 fwd")
    rounds = [
        RoundTimes(np.full((4, 2), 1e-3), np.full((4, 2), 1e-3 * np.exp(log + spread * k)), 1.0) for k in range(8)
    ]
    found.fill(compare_rounds([one.log_ratio for one in rounds]), rounds)
    return found


def comparison(*outcomes: Outcome) -> Comparison:
    machine = {"processor": "a|b", "cores": 2, "busy": 1.25}
    return Comparison(BASE, HEAD, 1.02, machine, {"torch": "9"}, {"seconds": 10.0}, list(outcomes))


SLOW, FAST, SAME, WIDE = outcome("s", 0.05), outcome("f", -0.05), outcome("e", 0.0), outcome("w", -0.175, 0.05)
LOST = Outcome("l", "n=8", message="head (x): it is wrong | <b>")


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [([SAME], 0), ([SAME, FAST], 0), ([SLOW], 1), ([SLOW, LOST, WIDE], 1), ([SAME, LOST], 2), ([WIDE], 2), ([], 2)],
)
def test_the_exit_status(outcomes: list[Outcome], status: int) -> None:
    assert comparison(*outcomes).exit_status == status


def test_outcomes_hold_the_verdicts() -> None:
    assert [one.verdict for one in (SLOW, FAST, SAME, WIDE, LOST)] == [
        "SLOWER",
        "FASTER",
        "SAME",
        "AMBIGUOUS",
        UNJUDGED,
    ]
    assert SLOW.base.seconds == pytest.approx(1e-3) and SLOW.head.seconds == pytest.approx(
        1e-3 * np.exp(0.05), rel=1e-3
    )
    assert len(SLOW.head.samples) == 8 and len(SLOW.head.samples[0]) == 4


def test_json_is_as_its_schema_says() -> None:
    data = json.loads(comparison(SLOW, WIDE, LOST).to_json())
    schema = json.loads(read_schema("revisions"))
    Draft202012Validator.check_schema(schema)
    assert [error.message for error in Draft202012Validator(schema).iter_errors(data)] == []
    assert data["outcomes"][2]["change"] is None and data["exit_status"] == 1
    assert data["base"] == {"name": "main", "commit": "a" * 40}


def test_json_comes_back() -> None:
    found = comparison(SLOW, LOST)
    assert Comparison.from_dict(json.loads(found.to_json())) == found
    data = {**json.loads(found.to_json()), "schema_version": 2}
    with pytest.raises(TargetError, match="schema_version 2 should be 1"):
        Comparison.from_dict(data)
