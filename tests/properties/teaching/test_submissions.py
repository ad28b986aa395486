"""Whose file is judged: one that defines the name, in a person's folder or as their file; else a line that says why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from attention_core.declaration.implementation import TargetError
from attention_core.teaching.submissions import LARGEST, Submission, find_submissions


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def by_person(root: Path) -> dict[str, Submission]:
    return {one.person: one for one in find_submissions(root, "attention")}


@pytest.mark.parametrize(
    "text",
    [
        "def attention(q): pass",
        "async def attention(q): pass",
        "class attention: pass",
        "attention = lambda q: q",
        "try:\n    import fast\nexcept ImportError:\n    fast = None\nif fast is None:\n    def attention(q): pass",
    ],
)
def test_a_file_defines_the_name_at_its_top_level(tmp_path: Path, text: str) -> None:
    found = by_person(write(tmp_path, {"ann/deep/a.py": text, "ann/other.py": "x = 1", "ben.py": text}))
    assert found["ann"].path == tmp_path / "ann/deep/a.py"
    assert found["ben"].path == tmp_path / "ben.py"
    assert not found["ann"].problem and not found["ben"].problem


def test_what_keeps_a_submission_from_being_judged_is_said(tmp_path: Path) -> None:
    right = "def attention(q): pass"
    found = by_person(write(tmp_path, {
        "twice/a.py": right, "twice/b.py": right, "syntax/a.py": "\ndef attention(q: pass", "inner/a.py": f"class A:\n    {right}",
        "near/a.py": "def atention(q): pass",
        "empty/notes.txt": "", "null/a.py": "\0", ".hidden/a.py": right, "__pycache__/a.py": right,
    }))  # fmt: skip
    assert {person: one.problem for person, one in found.items()} == {
        "twice": "attention is defined in 2 files: a.py, b.py", "syntax": found["syntax"].problem,
        "inner": "no file defines attention, but A", "near": "no file defines attention; is atention meant?", "empty": "there is no Python file",
        "null": found["null"].problem,
    }  # fmt: skip
    assert found["syntax"].problem.startswith("a.py, line 2: ")
    assert found["null"].problem.startswith("a.py: ") or "a.py, line" in found["null"].problem


def test_links_do_not_lead_out_of_the_folder(tmp_path: Path) -> None:
    secret = write(tmp_path / "elsewhere", {"a.py": "def attention(q): pass"}) / "a.py"
    folder = write(tmp_path / "class", {"ann/notes.txt": ""})
    (folder / "ann/a.py").symlink_to(secret)
    (folder / "eve").symlink_to(secret.parent)
    assert {one.person: one.problem for one in find_submissions(folder, "attention")} == {
        "ann": "there is no Python file"
    }


def test_feedback_that_was_written_into_the_folder_is_not_a_person(tmp_path: Path) -> None:
    folder = write(tmp_path, {"ann.py": "def attention(q): pass", "feedback/index.html": ""})
    assert [one.person for one in find_submissions(folder, "attention", folder / "feedback")] == ["ann"]
    assert [one.person for one in find_submissions(folder, "attention")] == ["ann", "feedback"]


def test_a_huge_folder_is_not_read(tmp_path: Path) -> None:
    folder = write(tmp_path, {"ann/a.py": "def attention(q): pass"})
    with (folder / "ann/data.bin").open("wb") as file:
        file.truncate(LARGEST + 1)
    assert "at most 200 are judged" in by_person(folder)["ann"].problem


def test_the_fingerprint_changes_with_every_file(tmp_path: Path) -> None:
    folder = write(tmp_path, {"ann/a.py": "def attention(q): pass", "ann/help.py": "x = 1"})
    before = by_person(folder)["ann"].fingerprint()
    assert before == by_person(folder)["ann"].fingerprint()
    (folder / "ann/help.py").write_text("x = 2", encoding="utf-8")
    assert before != by_person(folder)["ann"].fingerprint()


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"notes.txt": ""}, "neither folders nor Python files"),
        ({"ann/a.py": "", "ann.py": ""}, "a folder and a file of one name, ann"),
    ],
)
def test_a_folder_that_is_not_a_class_is_refused(tmp_path: Path, files: dict[str, str], words: str) -> None:
    with pytest.raises(TargetError, match=words):
        find_submissions(write(tmp_path, files), "attention")
    with pytest.raises(TargetError, match="is not a folder"):
        find_submissions(tmp_path / "missing", "attention")
