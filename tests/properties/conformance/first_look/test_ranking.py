"""How answers compare with the truth: calls without an answer are made once, whichever way one would be read."""

from __future__ import annotations

import pytest
from torch import Tensor

from attention_core.conformance import Implementation
from attention_core.conformance.engine.session import Session
from attention_core.conformance.first_look.probes import SIZES, Asker, problem
from attention_core.conformance.first_look.ranking import OF_ANSWERS, Comparer
from attention_core.faults.bases.reference import correct

READINGS = {"returns": "out,lse", "out_layout": "bhdn", "causal": "bottom_right", "dead_rows": "nan"}


def stubborn(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    raise ValueError("not today")


def of_three_heads(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    if query.shape[1] != 3:
        raise ValueError("three heads")
    return correct(query, key, value)


@pytest.mark.parametrize("function", [stubborn, of_three_heads])
def test_each_reading_of_a_call_has_the_outcome_that_it_has_alone(function: object) -> None:
    assert set(READINGS) == set(OF_ANSWERS)
    record = Implementation(function, name="f")
    readings = [record, *(record.with_(**{name: value}) for name, value in READINGS.items())]
    ways = [other.with_(**way) for other in readings for way in ({}, {"axes": 3}, {"always_causal": True})]
    with Session(record, effort="quick") as session:
        runner = session.subject.runner
        shared = Comparer(Asker(runner, {}), runner.describe())
        case = problem(SIZES[0], "float32")
        together = [shared.outcome(way, case) for way in ways]
        alone = [Comparer(Asker(runner, {}), runner.describe()).outcome(way, case) for way in ways]
    assert together == alone
    assert len({call[1:] for call in shared.fruitless}) < len(ways)
    assert ("agrees" in together) == (function is of_three_heads)
