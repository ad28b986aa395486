"""From the source to the verdict: what ends a grade, and what a process says of itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from attention_core.grading import run
from attention_core.grading.arena import Arena, Field
from attention_core.grading.results import Grade
from attention_core.grading.rules import Refused
from attention_core.grading.run import better_name, check_process, grade, in_own_folder
from attention_core.grading.task import Task, read_task

QUIET = {"changes": [], "traces": [], "forbidden": {}, "torch_threads": 1, "threads": 0, "places": {}}


class FakePlayer:
    closed = False

    def __init__(self, **report: Any) -> None:
        self.report = {**QUIET, **report}
        self.arena = Arena([Field("query", "float32", (8,)), Field("out", "float32", (8,), is_output=True)])
        self.arena.forget()

    def ask(self, do: str) -> dict[str, Any]:
        return self.report


@pytest.fixture
def task(tmp_path: Path) -> Task:
    path = tmp_path / "task.toml"
    path.write_text("")
    return read_task(path)


REPORTS = [
    ({"forbidden": {"mm": 3}}, "forbidden_operator", "aten::mm was called 3 times"),
    ({"changes": ["time.time"]}, "patches_modules", "time.time is another function now"),
    ({"traces": ["sys.settrace"]}, "traces", "sys.settrace is set"),
    ({"torch_threads": 8}, "threads", "torch runs on 8 threads"),
    ({"places": {"out": 4096 + 4}}, "shares_input", "out lies in the memory of query"),
]


@pytest.mark.parametrize(("report", "rule", "words"), REPORTS)
def test_what_a_process_says_of_itself(task: Task, report: dict[str, Any], rule: str, words: str) -> None:
    player: Any = FakePlayer(**report)
    with pytest.raises(Refused, match=words) as found:
        check_process(player, task)
    assert found.value.rule == rule
    check_process(player, task.without(rule))
    better = better_name(Refused("wrong_answer", "call 3"), player, task)
    assert (better.rule, better.message.endswith("; call 3")) == (rule, True)


def test_a_quiet_process_is_let_pass(task: Task) -> None:
    player: Any = FakePlayer(places={"out": 10**6})
    check_process(player, task)
    assert better_name(Refused("wrong_answer", "call 3"), player, task).rule == "wrong_answer"
    player.closed, player.report = True, {}
    assert better_name(Refused("died", "call 3"), player, task).rule == "died"


@pytest.mark.parametrize(
    ("text", "verdict", "rule", "reason"),
    [
        (
            "import sys\nsys.settrace(None)\ndef attention(q, k, v): ...",
            "refused",
            "traces",
            "mine.py, line 2: sys.settrace",
        ),
        ("def attend(q, k, v): ...", "error", "", "no file defines attention; is attend meant?"),
        ("def attention(q, k, v:", "error", "", "line 1"),
    ],
)
def test_what_ends_before_anything_runs(
    tmp_path: Path, task: Task, monkeypatch: pytest.MonkeyPatch, text: str, verdict: str, rule: str, reason: str
) -> None:
    monkeypatch.setattr(run, "judge", lambda *_: pytest.fail("it ran"))
    path = tmp_path / "mine.py"
    path.write_text(text)
    found = grade(path, task)
    assert (found.verdict, found.rule) == (verdict, rule) and reason in found.reason
    assert len(found.seed) == 32 and found.timings == []


def test_a_refused_submission_has_no_time(tmp_path: Path, task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    def judged(target: str, task: Task, place: Path, found: Grade, *_: Any) -> None:
        assert target == "submission/mine.py:attention" and (place / "submission/mine.py").is_file()
        found.timings = [{"shape": "n=3"}]
        raise Refused("leaves_processes", "sleep (7)")

    monkeypatch.setattr(run, "judge", judged)
    path = tmp_path / "mine.py"
    path.write_text("def attention(q, k, v): ...")
    found = grade(path, task, secret="0" * 32)
    assert (found.verdict, found.rule, found.timings, found.seed) == ("refused", "leaves_processes", [], "0" * 32)
    assert found.hint


@pytest.mark.parametrize(
    ("line", "submission", "is_folder", "expected"),
    [
        ("import sys; sys.path.insert(0, 'submission')", "hand/in.py", False, "import sys; sys.path.insert(0, 'hand')"),
        ("import sys; sys.path.insert(0, 'submission')", "in.py", False, "import sys; sys.path.insert(0, '.')"),
        ("import sys; sys.path.insert(0, 'submission/a b')", "x/y", True, "import sys; sys.path.insert(0, 'x/y/a b')"),
        ("f = runpy.run_path('submission/in-1.py')['f']", "/h/in-1.py", False, "f = runpy.run_path('/h/in-1.py')['f']"),
        ("attention = load_target('submission/k.so:f')", "h/k.so", False, "attention = load_target('h/k.so:f')"),
        ("text = 'submission'", "hand/in.py", False, "text = 'submission'"),
    ],
)
def test_a_program_loads_the_submission_where_its_author_has_it(
    line: str, submission: str, is_folder: bool, expected: str
) -> None:
    assert in_own_folder(line, Path(submission), is_folder=is_folder) == expected
