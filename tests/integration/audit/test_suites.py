"""Runs of a suite in processes of their own: what dies or hangs is found out, and the next run has a new process."""

from __future__ import annotations

from pathlib import Path

import pytest

from attention_core.audit.plan import Plan
from attention_core.audit.suite import Suites
from attention_core.declaration.implementation import TargetError

MINE = "def attention(q, k, v):\n    return q\n"
TESTS = "import os, time\nimport mine_run\ndef test_calls():\n    assert mine_run.attention(1, 2, 3) == 1\n"


@pytest.mark.thorough
@pytest.mark.slow
def test_what_becomes_of_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine_run.py").write_text(MINE, encoding="utf-8")
    (tmp_path / "kept").mkdir()
    suites, plan, file = Suites(1, str(tmp_path / "kept")), Plan("mine_run:attention", "watch"), tmp_path / "test_m.py"

    def run(more: str = "", limit: float = 60.0) -> tuple[list[str], str, str]:
        file.write_text(TESTS + more, encoding="utf-8")
        found = suites.run(plan, [str(file)], limit=limit)
        return found.called_by, found.died, found.hung

    try:
        assert run() == (["test_m.py::test_calls"], "", "")
        assert run("def test_dies():\n    os._exit(3)\n")[1] == "ended with status 3 in test_m.py::test_dies"
        assert run("def test_hangs():\n    time.sleep(999)\n", limit=4.0)[2] == "test_m.py::test_hangs"
        assert run() == (["test_m.py::test_calls"], "", "")
    finally:
        suites.close()


def test_what_ends_because_all_was_ended_says_nothing_of_a_fault(tmp_path: Path) -> None:
    suites = Suites(1, str(tmp_path))
    suites.close()
    with pytest.raises(TargetError, match="broken off"):
        suites.run(Plan("m:f"), ["tests"], limit=1.0)
