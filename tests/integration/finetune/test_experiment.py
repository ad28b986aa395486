"""`finetune experiment` as a user types it: the list, a run, going on after a kill, and what is refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from finetune.cli.main import app
from finetune.experiments.table import EXPERIMENTS

DOCS = Path(__file__).resolve().parents[3] / "docs"
TEXT = "the quick brown fox jumps over the lazy dog; " * 300


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("fox.txt").write_text(TEXT, encoding="utf-8")
    return tmp_path


def experiment(*words: str) -> Result:
    return CliRunner().invoke(app, ["experiment", *words])


def test_the_list_names_every_experiment() -> None:
    found = experiment()
    assert found.exit_code == 0 and all(name in found.stdout for name in EXPERIMENTS)


def test_the_page_has_the_minutes_of_all_experiments_as_they_were_measured() -> None:
    minutes = {}
    for name in EXPERIMENTS:
        results = json.loads((DOCS / "experiments" / f"{name}.json").read_text(encoding="utf-8"))["results"]
        minutes[name] = sum(run["seconds"] for runs in results.values() for run in runs) / 60
    page = (DOCS / "finetune.md").read_text(encoding="utf-8")
    words = f"are {sum(minutes.values()):.0f} minutes of one core (`tox run -e experiments`), the longest of them "
    assert words + f"{max(minutes.values()):.1f}." in page
    assert max(minutes.values()) < 10 and sum(minutes.values()) < 180, "what a reader has time for"


@pytest.mark.usefixtures("folder")
def test_a_run_prints_its_table_and_writes_its_page() -> None:
    words = ["tied_projections", "--text", "fox.txt", "--steps", "2", "--seeds", "2", "--write", "pages"]
    found = experiment(*words)
    assert found.exit_code == 0, found.output
    assert "| separate |" in found.stdout and "* **" in found.stdout
    assert "0 of 10 runs done" in found.stderr and "fox.txt" in found.stderr
    assert {path.suffix for path in Path("pages").iterdir()} == {".md", ".png", ".json"}
    again = experiment(*words)
    assert again.stdout == found.stdout  # from the kept runs, times and all


@pytest.mark.thorough
def test_a_killed_experiment_goes_on(folder: Path) -> None:
    words = ["experiment", "tied_projections", "--text", "fox.txt", "--steps", "2", "--seeds", "2"]
    command = [sys.executable, "-m", "finetune.cli.main", *words]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "OMP_NUM_THREADS": "1"})  # fmt: skip
    kept = folder / "build" / "experiments" / "tied_projections"
    while process.poll() is None and len(list(kept.glob("*.json"))) < 2:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = {path.name: path.stat().st_mtime_ns for path in kept.glob("*.json")}
    found = experiment(*words[1:])
    assert found.exit_code == 0, found.output
    after = {path.name: path.stat().st_mtime_ns for path in kept.glob("*.json")}
    assert len(before) >= 2 and len(after) == 10 and before.items() <= after.items()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing"], "there is no experiment 'nothing'"),
        (["late_mask", "--text", "none.txt"], "no such file: none.txt"),
        (["late_mask", "--text", "fox.txt", "--write", "fox.txt"], "it is a file, but pages go into a folder"),
        (["late_mask", "--seeds", "1"], "Invalid value for '--seeds'"),
        (["late_mask", "--text", "fox.txt", "--folder", "fox.txt"], "cannot be written"),
    ],
)
def test_what_cannot_be_run_is_said(words: list[str], message: str) -> None:
    found = experiment(*words)
    assert found.exit_code == 2 and message in found.stderr and "Traceback" not in found.output
    assert "runs done" not in found.stderr
