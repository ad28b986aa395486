"""The console of a command: as wide as the terminal, and wide enough for tables where there is none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import attention_core
from attention_core.console import PIPED, Bar, make_console


def test_nobody_looks_at_a_pipe() -> None:
    console = make_console()
    assert not console.is_terminal
    assert console.width >= PIPED


def test_a_bar_that_nobody_looks_at_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Bar("f", quiet=False) as tell:
        tell("half", 1, 2)
    said = capsys.readouterr()
    assert not said.out and not said.err


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (("attention_core", "class", "handed", "--function", "attention"), "\\u0141ukasz  error"),
        (("finetune.cli.main", "charcorruption", "wiki.txt"), "\\u2047"),
    ],
)
def test_a_small_encoding_ends_no_command(tmp_path: Path, command: tuple[str, ...], shown: str) -> None:
    """As in a pipe on Windows, or under the locale C."""
    (tmp_path / "handed").mkdir()
    (tmp_path / "handed" / "\u0141ukasz.py").write_text("x = 1\n")
    (tmp_path / "wiki.txt").write_text("Ada was born in Rome.\n")
    home = str(Path(attention_core.__file__).parents[1])
    run = subprocess.run(
        [sys.executable, "-m", *command], cwd=tmp_path, capture_output=True, timeout=120, check=False,
        env={**os.environ, "PYTHONPATH": home, "PYTHONUTF8": "0", "PYTHONIOENCODING": "cp1252"},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr.decode("cp1252")
    assert shown in run.stdout.decode("cp1252")
