"""Which faults count does not depend on how many processes there are."""

from __future__ import annotations

from typing import Any

import pytest

from attention_core.audit.plan import Plan
from attention_core.audit.results import Fate
from attention_core.audit.run import SHOWN, Announcer, judge_faults, take_counted
from attention_core.audit.trial import Request
from attention_core.faults.row import Row


class Known:
    """In the place of a trial: every third fault cannot be told from the target."""

    def fate(self, row: Row) -> Fate:
        return Fate(row.name, "", "", status="left_out" if int(row.name) % 3 == 0 else "killed")


@pytest.mark.parametrize("processes", [1, 2, 5])
@pytest.mark.parametrize("count", [1, 7, None])
def test_the_same_faults_count(processes: int, count: int | None) -> None:
    rows = [Row(str(number), lambda: None, "", ("own",)) for number in range(20)]
    request = Request("m:f", ("tests",), count=count, processes=processes)
    found = judge_faults(request, rows, Known().fate, lambda: None, lambda *_: None)
    counted = [fate.name for fate in found if fate.status != "left_out"]
    wanted = [str(n) for n in range(20) if n % 3][: count or 20]
    assert counted == wanted
    assert [fate.name for fate in found] == [str(n) for n in range(int(wanted[-1]) + 1)]


def test_nothing_beyond_the_last_that_counts() -> None:
    fates = [Fate("a", "", "", status="killed"), Fate("b", "", ""), Fate("c", "", "", status="killed")]
    assert [fate.name for fate in take_counted(fates, 1)] == ["a"]
    assert [fate.name for fate in take_counted(fates, 2)] == ["a", "b", "c"]


class Chance:
    """In the place of a trial: every fault survives, and each has its smallest case."""

    request = Request("m:f", ("tests",))
    plan = Plan("m:f", "replace")
    judges: Any = None

    def __init__(self) -> None:
        self.judges, self.asked = self, list[str]()

    def fate(self, row: Row) -> Fate:
        return Fate(row.name, "What is wrong.", "", status="survived", law="a_law")

    def ask(self, what: str, plan: Plan, **more: Any) -> dict[str, Any]:
        self.asked.append(plan.fault)
        return {"case": {"law": more["law"], "case": "H=1 n=2", "message": "", "snippet": "out = attention(q)"}}


def test_the_first_survivors_are_told_with_their_smallest_cases() -> None:
    trial, notes = Chance(), list[str]()
    announcer = Announcer(trial, notes.append)  # type: ignore[arg-type]
    fates = [announcer.judge(Row(str(number), lambda: None, "", ("own",))) for number in range(SHOWN + 3)]
    assert notes[0] == "survives: 0: What is wrong. (a_law: H=1 n=2)"
    assert len(notes) == SHOWN == len(trial.asked), "the others are in the report"
    assert [fate.case for fate in fates] == [""] * (SHOWN + 3), "the fates stay as the log keeps them"
