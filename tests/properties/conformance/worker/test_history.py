"""What is kept of the calls of a run: the first and the last, if they are small enough to be shown."""

from __future__ import annotations

import numpy as np
import pytest

from attention_core.conformance.worker import history
from attention_core.conformance.worker.exchange import Request, array


def call(numbers: int) -> Request:
    return Request(args=[array(np.zeros(numbers), "float64")])


def test_the_first_and_the_last_calls_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "KEPT", 3)
    monkeypatch.setattr(history, "FEW", 2)
    kept = history.History()
    kept.last = type(kept.last)(maxlen=3)
    calls = [call(n) for n in range(1, 10)]
    for one in calls:
        kept.note(one)
    blocks = [[history.numbers_of(one) for one in block] for block in kept.blocks()]
    assert blocks == [[1, 2, 3, 7, 8, 9], [8, 9], [1, 2, 3], [7, 8, 9]], "short ones, a few, first, last"


def test_what_no_program_could_show_is_not_kept() -> None:
    kept = history.History()
    for one in (call(history.READABLE + 1), Request(args=[], describe=True)):
        kept.note(one)
    kept.note(call(history.SHORT + 1))
    short, _, first, _ = kept.blocks()
    assert short == [] and len(first) == 1


def test_numbers_of_modules_count() -> None:
    request = Request(args=[array(np.zeros((2, 3)), "float64"), 5], kwargs={"mask": array(np.ones(4, bool), "bool")})
    assert history.numbers_of(request) == 10
