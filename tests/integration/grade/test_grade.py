"""`attention-core grade` as people run it: what is right is accepted and timed, what is not says why."""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from click.testing import CliRunner

from attention_core.cli import main
from attention_core.grading.batch import Batch, grade_all
from attention_core.grading.player import PR_SET_CHILD_SUBREAPER, adopt_orphans
from attention_core.grading.results import Grade

EXPERIMENT = Path(__file__).resolve().parents[3] / "experiments" / "grading"
sys.path.append(str(EXPERIMENT))

from cheats import CHEATS  # noqa: E402
from honest import HONEST  # noqa: E402

TASK = """
allow = ["ends_process", "imports_grader", "frames", "searches_memory", "tensor_subclass", "fallback", "hidden_code"]

[verify]
laws = ["{law}"]
timeout = 60

[time]
shapes = ["B=1,H=4,n=320,d=64"]
seconds = 0.05
"""
LAW = "weights_are_a_distribution"


def graded(folder: Path, name: str, text: str, **more: Any) -> Grade:
    """The grade of a text on a task that asks for one law and looks at little of the source."""
    submission, task = folder / f"{name}.py", folder / "task.toml"
    submission.write_text(text)
    task.write_text(TASK.format(law=LAW))
    return grade_all([submission], Batch(task, **more))[0]


def test_a_reference_that_no_kernel_has_is_reported_before_anything_is_graded(tmp_path: Path) -> None:
    (tmp_path / "task.toml").write_text('[time]\nreference = "torch:defau"\n')
    (tmp_path / "one.py").write_text("def attention(query, key, value): return value\n")
    result = CliRunner().invoke(main, ["grade", str(tmp_path / "one.py"), "--task", str(tmp_path / "task.toml")])
    assert result.exit_code == 2 and result.stdout == ""
    assert "no kernel 'torch:defau' in the table; there are: torch:default" in result.stderr


@pytest.mark.thorough(leave_out=("hidden_library", "patched_by_name", "kills_the_grader"))
@pytest.mark.parametrize(
    "name",
    ["cached_by_few_numbers", "future", "background_thread", "hidden_library", "patched_by_name", "kills_the_grader"],
)
def test_cheats_are_refused_by_what_they_do(tmp_path: Path, name: str) -> None:
    cheat = next(each for each in CHEATS if each.name == name)
    found = graded(tmp_path, name, cheat.text)
    # A thread that is late in the judged calls, too, is refused there: which it is depends on the machine.
    rules = {cheat.timed, "law"} if name == "background_thread" else {cheat.timed}
    assert found.verdict == "refused" and found.rule in rules, found.reason
    assert not found.timings and found.hint and found.seed


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a stopped process with the one that started it")
def test_a_judge_that_is_ended_leaves_no_stopped_process_behind(tmp_path: Path) -> None:
    """Its reference stands stopped then, and runs no thread that could notice."""
    cheat = next(each for each in CHEATS if each.name == "kills_the_grader")
    own = psutil.Process()
    before = set(own.children(recursive=True))
    adopt_orphans()  # what is left behind becomes a child of this process
    try:
        assert graded(tmp_path, cheat.name, cheat.text).rule == cheat.timed
        left = [process for process in own.children(recursive=True) if process not in before]
        _, alive = psutil.wait_procs(left, timeout=30)
        assert [process.cmdline() for process in alive] == []
    finally:
        for process in own.children(recursive=True):
            if process not in before:
                process.kill()
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def test_an_honest_submission_is_accepted_by_a_seed_that_is_given(tmp_path: Path) -> None:
    honest = next(each for each in HONEST if each.name == "own_buffers_by_shape")
    found = graded(tmp_path, honest.name, honest.text, secret="0" * 32)
    assert (found.verdict, found.rule, found.reason) == ("accepted", "", "")
    [timing] = found.timings
    assert timing["calls"] >= 18 and 0 < timing["worst"] <= 1 and timing["seconds"] > 0
    assert found.seed == "0" * 32


def test_a_batch_with_a_table_and_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("shows.py").write_text("import sys\nsys.settrace(None)\ndef attention(query, key, value): return value\n")
    Path("lacks.py").write_text("def attend(query, key, value): return value\n")
    Path("task.toml").write_text("")
    words = ["grade", "shows.py", "lacks.py", "--task", "task.toml", "--json", "out.json"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 1, result.output
    assert "shows.py: refused (traces): shows.py, line 2: sys.settrace" in result.output
    first, second = json.loads(Path("out.json").read_text())["grades"]
    assert (first["verdict"], first["rule"], first["timings"]) == ("refused", "traces", [])
    assert (second["verdict"], second["reason"]) == ("error", "no file defines attention; is attend meant?")
    assert first["hint"] and first["sources"] and first["seed"] != second["seed"]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["nothing.py", "--task", "task.toml"], "no such submission: nothing.py"),
        (["a.py", "--task", "none.toml"], "none.toml cannot be read"),
        (["a.py", "--task", "task.toml", "--seed", "x"], "32 hexadecimal digits"),
        (["a.py", "--task", "task.toml", "--json", "no/such/folder"], "there is no folder"),
    ],
)
def test_bad_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], line: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("task.toml").write_text("")
    Path("a.py").write_text("")
    result = CliRunner().invoke(main, ["grade", *words])
    assert result.exit_code == 2 and line in result.output


def test_the_rules_are_listed() -> None:
    result = CliRunner().invoke(main, ["grade", "--rules"])
    assert result.exit_code == 0 and "stale_answer: " in result.output
