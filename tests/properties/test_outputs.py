"""Files that could not be written are known before anything is done."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from attention_core.cli import main
from attention_core.outputs import why_not_writable


def test_what_cannot_be_written_has_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "there").write_text("x", encoding="utf-8")
    (tmp_path / "into").symlink_to("there")
    for path in (tmp_path / "new", tmp_path / "there", tmp_path / "into"):
        assert why_not_writable(path) == ""
    assert why_not_writable("") == "it names no file"
    assert why_not_writable(tmp_path) == "it is a folder"
    assert why_not_writable(tmp_path / "none" / "r") == f"there is no folder {tmp_path / 'none'}"
    assert why_not_writable(tmp_path / "there" / "r") == f"there is no folder {tmp_path / 'there'}"
    assert "too long" in why_not_writable(tmp_path / ("r" * 300)).lower()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["into", "there"]
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    assert why_not_writable(tmp_path / "there") == why_not_writable(tmp_path / "new") == "no permission"


COMMANDS = (
    ("verify", "nothing.py:f", "--json"),
    ("merge", "nothing.json", "--json"),
    ("derive", "nothing.md", "--json"),
    ("derive", "nothing.md", "--html"),
    ("bench", "nothing.py:f", "--json"),
    ("audit", "nothing.py", "--target", "nothing.py:f", "--json"),
    ("grade", "nothing.py", "--task", "nothing.toml", "--json"),
    ("grade", "nothing.py", "--task", "nothing.toml", "--html"),
    ("class", "nothing", "--function", "f", "--json"),
    ("replay", "nothing.json", "--json"),
    ("report", "nothing.json", "--out"),
    ("laws", "--json"),
    ("contracts", "--json"),
    ("kernels", "--json"),
    ("exercise", "selection", "--q", "k_0", "--json"),
)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_refuses_a_folder_that_is_not_there_in_one_line_and_first(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`derive`, `laws` and others did their work first, and then said "No such file or directory"."""
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke(main, [*words, "found/x.json"])
    line = f"attention-core: {words[-1]} found/x.json cannot be written: there is no folder found\n"
    assert (run.exit_code, run.output) == (2, line)
    assert not [*tmp_path.iterdir()]
