"""Which faults count does not depend on how many processes there are."""

from __future__ import annotations

import pytest

from attention_core.audit.results import Fate
from attention_core.audit.run import judge_faults, take_counted
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
