"""Consoles, files, interruption.

What commands share: files are refused at the door, lines are not folded where nobody looks, Ctrl-C is no verdict.
Processes that are interrupted are in tests/integration/verify/test_interrupted.py.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from attention_core.cli import main
from attention_core.conformance.report.law_result import LawResult
from attention_core.conformance.report.results import Report
from attention_core.declaration.implementation import TargetError
from attention_core.terminal import Commands, check_outputs, interruptible, progress, write_reports

NONE: dict[str, Any] = {"json_path": None, "html_path": None, "junit_path": None}


@pytest.mark.parametrize("kind", ["json", "html", "junit"])
def test_files_are_refused_at_the_door(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lost = str(tmp_path / "none" / "r")
    with pytest.raises(TargetError, match=f"--{kind} .* cannot be written: there is no folder "):
        check_outputs({**NONE, f"{kind}_path": lost})
    check_outputs({**NONE, f"{kind}_path": str(tmp_path / "r")})
    assert not (tmp_path / "r").exists()
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    with pytest.raises(TargetError, match="cannot be written: no permission"):
        check_outputs({**NONE, f"{kind}_path": str(tmp_path / "r")})


def test_one_file_for_two_outputs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("r")
    for other in ("r", "link", f"../{tmp_path.name}/r"):
        paths = {"json_path": str(tmp_path / "r"), "html_path": str(tmp_path / other)}
        with pytest.raises(TargetError, match=r"--json and --html name one file, .*: one would overwrite the other"):
            check_outputs({**NONE, **paths})
    check_outputs({**NONE, "json_path": str(tmp_path / "r"), "html_path": str(tmp_path / "s")})


def test_no_name_is_no_file() -> None:
    with pytest.raises(TargetError, match="--junit '' cannot be written: it names no file"):
        check_outputs({**NONE, "junit_path": ""})


def test_a_file_that_went_away_in_the_meantime_is_told(tmp_path: Path) -> None:
    report = Report("f", laws=[LawResult("law", "held", 1, 0.1)])
    paths = {f"{kind}_path": str(tmp_path / kind) for kind in ("json", "html", "junit")}
    write_reports([report], paths)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["html", "json", "junit"]
    with pytest.raises(TargetError, match="cannot be written: "):
        write_reports([report], {**NONE, "html_path": str(tmp_path / "none" / "r")})


def test_being_interrupted_is_no_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended, interruptible():
        raise KeyboardInterrupt
    assert ended.value.code == 130
    assert capsys.readouterr().err == "attention-core: interrupted\n"
    with pytest.raises(SystemExit), interruptible("the same command continues"):
        raise KeyboardInterrupt
    assert capsys.readouterr().err == "attention-core: interrupted; the same command continues\n"


def test_a_progress_bar_takes_any_name() -> None:
    with progress("[/x]", False) as tick:
        tick("[/x]", LawResult("[/law]", "held", 1, 0.1), 3)


def test_ctrl_c_while_a_command_still_imports_is_no_verdict() -> None:
    @click.group(cls=Commands)
    def group() -> None: ...

    @group.command()
    def imports() -> None:
        raise KeyboardInterrupt

    found = CliRunner().invoke(group, ["imports"])
    assert (found.exit_code, found.stderr) == (130, "attention-core: interrupted\n")
    assert isinstance(main, Commands)


def test_the_list_of_commands_shows_whole_sentences_on_a_narrow_terminal() -> None:
    from finetune.cli.main import app

    for group in (main, app):
        shown = CliRunner().invoke(group, ["--help"], terminal_width=80).output.partition("Commands:")[2]
        flat = " ".join(shown.split())
        assert "..." not in flat and all(len(line) <= 80 for line in shown.splitlines())
        for name, command in group.commands.items():
            if not command.hidden:
                first = (command.help or "").partition("\n\n")[0].partition(". ")[0]
                assert f"{name} {' '.join(first.split()).removesuffix('.')}" in flat, name
