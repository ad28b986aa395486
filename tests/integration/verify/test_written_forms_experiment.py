"""The experiment on attention as people write it.

experiments/written_forms: its files, and one contract of it put through both runs.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[3] / "experiments" / "written_forms"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(FOLDER)
    for name in ("run", "forms"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module("run")


def test_every_form_is_a_file_and_its_fault_another(run: Any) -> None:
    assert len(run.FORMS) >= 20
    for form in run.FORMS:
        right, wrong = form.file(faulty=False), form.file(faulty=True)
        assert right != wrong
        for text in (right, wrong):
            compile(text, form.name, "exec")


def test_the_table_tells_false_alarms_and_faults_that_were_not_seen(run: Any) -> None:
    row = {"contract": "attention", "options": ""}
    found = [
        {
            **row,
            "form": "a",
            "faulty": False,
            "verdicts": ["refuted", "conforms"],
            "good": True,
            "options": "--masks bool",
        },
        {**row, "form": "a", "faulty": True, "verdicts": ["conforms"], "good": False},
        {**row, "form": "b", "faulty": False, "verdicts": ["refuted"], "good": False},
    ]
    made = run.table(found)
    assert "| a | attention | refuted | conforms | `--masks bool` | conforms: **not seen** |" in made
    assert "| b | attention | refuted |  **false alarm** |  | not run |" in made
    assert "1 of 2 right forms conform in at most two runs; 0 of 1 faulty ones never do" in made


@pytest.mark.thorough
def test_a_right_form_conforms_in_two_runs_and_its_fault_in_none(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run.main(["--only", "a causal mask to add"])
    printed = capsys.readouterr().out
    assert "| refuted | conforms | `--causal bottom_right --masks additive` | refuted" in printed
    assert "1 of 1 right forms conform in at most two runs; 1 of 1 faulty ones never do." in printed
