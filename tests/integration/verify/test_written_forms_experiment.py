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


@pytest.mark.thorough
def test_a_right_form_conforms_in_two_runs_and_its_fault_in_none(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run.main(["--only", "a causal mask to add"])
    printed = capsys.readouterr().out
    assert "| right | refuted | conforms | `--causal bottom_right --masks additive` |  |" in printed
    assert "1 of 1 right forms conform in at most two runs; 1 of 1 faulty ones never do" in printed
