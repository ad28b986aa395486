"""A run goes on where it was ended, and never on something else's results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from attention_core.audit.judge_client import Judges
from attention_core.audit.log import Log, open_logs
from attention_core.audit.plan import Plan


def test_what_was_found_is_known_to_the_next_run(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "log.jsonl"
    Log(path, "key").add("a", {"status": "killed"})
    Log(path, "key").add("b", {"status": "survived"})
    assert {name: line["status"] for name, line in Log(path, "key").known.items()} == {"a": "killed", "b": "survived"}


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = Log(path, "key")
    log.add("a", {})
    log.add("b", {})
    path.write_bytes(path.read_bytes()[:-4])
    again = Log(path, "key")
    assert list(again.known) == ["a"]
    again.add("c", {})
    assert list(Log(path, "key").known) == ["a", "c"]


def test_another_audit_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    Log(path, "key").add("a", {})
    assert Log(path, "other").known == {} == Log(path, "key").known


def test_the_key_changes_with_the_files(tmp_path: Path) -> None:
    test = tmp_path / "tests" / "test_a.py"
    test.parent.mkdir()
    test.write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "mine.py").write_text("y = 1\n", encoding="utf-8")
    test.parent.joinpath("conftest.py").write_text("z = 1\n", encoding="utf-8")

    def keys(settings: int = 0) -> tuple[str, str]:
        logs = open_logs("mine:f", str(tmp_path / "mine.py"), (str(test),), {}, settings, tmp_path / "log.jsonl")
        first = [log.path.read_text(encoding="utf-8").splitlines()[0] for log in logs if log.path is not None]
        return first[0], first[1]

    before = keys()
    assert keys() == before
    assert keys(1)[0] != before[0] and keys(1)[1] == before[1]
    test.parent.joinpath("conftest.py").write_text("z = 2\n", encoding="utf-8")
    assert keys()[0] != before[0]
    before = keys()
    (tmp_path / "mine.py").write_text("y = 2\n", encoding="utf-8")
    after = keys()
    assert after[0] != before[0] and after[1] != before[1]


def test_nothing_is_kept_without_a_path() -> None:
    log = Log(None, "")
    log.add("a", {"status": "killed"})
    assert log.known["a"]["status"] == "killed"


def test_what_the_laws_answer_is_known_to_the_audit_of_another_suite(tmp_path: Path) -> None:
    path, plan = tmp_path / "laws.jsonl", Plan("m:f", "replace", "tiles.x", {"layout": "bnhd"})
    judges = Judges(1, "m:f", (), {}, Log(path, "key"))
    calls: list[str] = []
    judges.all[0].ask = lambda what, plan, **more: calls.append(what) or {"law": "a"}  # type: ignore[method-assign,func-returns-value]
    assert judges.ask("fault", plan) == judges.ask("fault", plan)
    again = Judges(1, "m:f", (), {}, Log(path, "key"))
    assert again.ask("fault", plan)["law"] == "a" and calls == ["fault"]
    judges.ask("fault", replace(plan, declared={}))
    assert calls == ["fault", "fault"]  # other conventions are another question
