"""The experiment bench_revisions: its log goes on, and its tables count what it says."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "experiments" / "bench_revisions" / "run.py"


@pytest.fixture(scope="module")
def experiment() -> object:
    spec = importlib.util.spec_from_file_location("bench_revisions_run", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_simulated_trials_are_counted(experiment: object) -> None:
    rows = experiment.simulated_table(["quiet"], 2, 2.0)  # type: ignore[attr-defined]
    assert rows[2] == "| quiet | 0 of 2 | 2 of 2 |"


def test_a_log_is_read_but_for_a_line_that_was_cut_off(experiment: object, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"kind": "same", "trial": 0, "verdict": "SAME", "ratio": 1.0, "busy": 0.5}\n{"kind": "slo')
    lines = experiment.read_log(log)  # type: ignore[attr-defined]
    assert [line["trial"] for line in lines] == [0] and experiment.read_log(None) == []  # type: ignore[attr-defined]
    rows = experiment.summarize(lines)  # type: ignore[attr-defined]
    assert (
        rows[2] == "| same | 1 | 0 | 0 | 1 | 0 | 0 | 0 of 1: 0 to 79 % | 1.000 to 1.000 |"
        and "0.5 in the median" in rows[-1]
    )


def test_the_repository_has_three_revisions(experiment: object) -> None:
    with experiment.repository() as root:  # type: ignore[attr-defined]
        assert "EXTRA = 1" in (root / "mine.py").read_text() and (root / ".git" / "refs" / "tags" / "same").exists()
