"""Files that a benchmark writes.

Files are written whole, through links, with the mode they had; what is no file is refused before anything is measured.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from attention_core.bench.files import check_writable
from attention_core.bench.report.results import write_text
from attention_core.declaration.implementation import TargetError


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    write_text(path, "first")
    write_text(path, "second")
    assert path.read_text() == "second"
    with pytest.raises(TargetError, match="cannot be written"):
        write_text(tmp_path / "no folder" / "r.json", "x")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "\udcff")
    assert path.read_text() == "second"
    assert [p.name for p in tmp_path.iterdir()] == ["r.json"]


@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_followed(there: bool, tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    if there:
        real.write_text("before")
    link.symlink_to("real.json")
    check_writable(link, "--json")
    write_text(link, "after")
    assert link.is_symlink() and not real.is_symlink() and real.read_text() == "after"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_a_file_keeps_its_mode(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text("before")
    path.chmod(mode)
    write_text(path, "after")
    assert path.stat().st_mode & 0o777 == mode and path.read_text() == "after"


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    (tmp_path / "to_fifo").symlink_to("fifo")
    (tmp_path / "round").symlink_to("round")
    for name, words in (
        ("fifo", "it is not a regular file"), ("to_fifo", "it is not a regular file"), ("folder", "it is a folder"),
        ("round", "symbolic links"),
    ):  # fmt: skip
        with pytest.raises(TargetError, match=f"--json {name} cannot be written: .*{words}"):
            check_writable(tmp_path / name, f"--json {name}")
        with pytest.raises(TargetError, match=f"{name} cannot be written: .*{words}"):
            write_text(tmp_path / name, "x")
    assert (tmp_path / "fifo").is_fifo() and (tmp_path / "to_fifo").is_symlink()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fifo", "folder", "round", "to_fifo"]


@pytest.mark.parametrize(
    ("path", "words"),
    [("", "it names no file"), ("a\0b", "null"), ("none/r.json", "there is no folder .*none"), ("x" * 300, "too long")],
)
def test_names_that_are_none_are_told(path: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TargetError, match=f"--json cannot be written: .*{words}"):
        check_writable(path, "--json")


def test_a_file_that_may_not_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.json"
    path.write_text("kept")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    with pytest.raises(TargetError, match="cannot be written: no permission"):
        check_writable(path, "--json")
