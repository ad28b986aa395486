"""The harness put to the test.

The self-test's own arithmetic on given comparisons, and one short run of it: what it says depends on no wall clock.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from attention_core.bench import selftest
from attention_core.bench.run import Settings
from attention_core.bench.selftest import SelfTest, print_self_test, run_self_test
from attention_core.bench.timing.statistics import Comparison
from attention_core.bench.workloads.workload import Workload
from attention_core.declaration.implementation import TargetError


def trial(ratio: float, verdict: str, half: float = 0.01) -> Comparison:
    return Comparison(ratio, ratio - half, ratio + half, ratio, 20, 20.0, verdict)


def judged(held: int, alarms: int, found: int) -> SelfTest:
    same = [trial(1.0 if k < held else 1.02, "SLOWER" if k < alarms else "SAME") for k in range(100)]
    slowed = [trial(1.05, "SLOWER" if k < found else "AMBIGUOUS") for k in range(100)]
    return SelfTest(Workload(), "k", same, slowed, [1.0, 2.0])


@pytest.mark.parametrize(
    ("held", "alarms", "found", "passed"),
    [(90, 5, 90, True), (89, 5, 90, False), (90, 6, 90, False), (90, 5, 89, False), (100, 0, 100, True)],
)
def test_what_is_promised_is_what_passes(held: int, alarms: int, found: int, passed: bool) -> None:
    one = judged(held, alarms, found)
    assert (one.coverage, one.false_alarms, one.detection_rate) == (held / 100, alarms / 100, found / 100)
    assert one.passed is passed


def test_the_rates_are_published() -> None:
    stream = io.StringIO()
    print_self_test(Console(file=stream, width=200), judged(97, 2, 99))
    text = stream.getvalue()
    assert "the interval holds 1 in 97% of 100 trials (asked: at least 90%)" in text
    assert "FASTER or SLOWER is said in 2% (asked: at most 5%)" in text
    assert "5 % more work is called SLOWER in 99% of 100 trials" in text


def test_a_run_of_it_times_both_pairs() -> None:
    workload = Workload(H=1, n_q=8, n_kv=8, d=8)
    settings = Settings(seconds=0.05, least=6, most=10)
    found = run_self_test(workload, settings, 2)
    assert len(found.same) == len(found.slowed) == 2
    assert all(c.blocks == 10 for c in found.same + found.slowed)
    with pytest.raises(TargetError, match=r"core:rotary cannot be timed on .*: its contract is rotary"):
        run_self_test(workload, Settings(baseline="core:rotary"), 1)


def test_the_slow_down_is_planted_in_the_second_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    factors: list[float] = []

    def measured(workers: object, workload: object, names: dict[str, str], *rest: Any, inner: int) -> dict[str, Any]:
        factors.append(rest[-1]["B"])
        times = {"A": np.full((20, 2), 1.0), "B": np.full((20, 2), rest[-1]["B"])}
        return {"times": times, "inner": {"A": inner, "B": inner}}

    monkeypatch.setattr(selftest, "measure", measured)
    found = run_self_test(Workload(H=1, n_q=8, n_kv=8, d=8), Settings(), 2)
    assert factors == [1.0, 1.05, 1.0, 1.05]
    assert [c.ratio for c in found.same] == [1.0, 1.0] and found.passed
    assert [c.ratio for c in found.slowed] == pytest.approx([1.05, 1.05])
