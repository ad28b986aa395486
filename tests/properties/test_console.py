"""The console of a command: as wide as the terminal, and wide enough for tables where there is none."""

from __future__ import annotations

import pytest

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
