"""A run goes on where it was ended, and never on something else's results."""

from __future__ import annotations

from pathlib import Path

from attention_core.audit.log import Log, fingerprint


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
    (tmp_path / "test_a.py").write_text("x = 1\n", encoding="utf-8")
    tests = (str(tmp_path),)
    first = fingerprint("m:f", tests, {})
    assert first == fingerprint("m:f", tests, {})
    assert first != fingerprint("m:f", tests, {"seed": 1})
    (tmp_path / "test_a.py").write_text("x = 2\n", encoding="utf-8")
    assert first != fingerprint("m:f", tests, {})


def test_nothing_is_kept_without_a_path() -> None:
    log = Log(None, "")
    log.add("a", {"status": "killed"})
    assert log.known["a"]["status"] == "killed"
