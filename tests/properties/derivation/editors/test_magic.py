"""The cell magic of notebooks, in a shell that does what IPython's does with it, and in IPython where it is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import attention_core.derivation
from attention_core.derivation import DocumentReport, Verdict

CELL = "Let $x \\in \\mathbb{R}$.\n\n$$ (x + 1)^2 = x^2 + 1 \\tag{square} $$"


class Shell:
    """What is used of IPython's shell."""

    def __init__(self) -> None:
        self.magics: dict[tuple[str, str], Callable[[str, str], None]] = {}
        self.user_ns: dict[str, Any] = {}

    def register_magic_function(self, function: Callable[[str, str], None], kind: str, name: str) -> None:
        self.magics[kind, name] = function

    def run_cell_magic(self, name: str, line: str, cell: str) -> None:
        self.magics["cell", name](line, cell)


OPEN = "Let $x, y \\in \\mathbb{R}$.\n\nAll frobs are gizmos of $x$.\n\n$$ (x + y)^3 = x^2 + y $$"


@pytest.fixture
def shell() -> Shell:
    made = Shell()
    attention_core.derivation.load_ipython_extension(made)
    return made


def test_a_cell_is_checked_and_its_report_kept(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell_magic("derive", "found --seconds 20", CELL)
    said = capsys.readouterr().out
    assert "REFUTED  square" in said and "4 is not 2 at x = 1" in said and "0 of 1 steps" in said
    found = shell.user_ns["found"]
    assert isinstance(found, DocumentReport) and found.steps[0].verdict is Verdict.REFUTED and found.steps[0].line == 3


def test_options_are_those_of_the_command(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell_magic("derive", "--quiet", "$$ 1 + 1 = 2 $$")
    assert "line-1" not in capsys.readouterr().out
    shell.run_cell_magic("derive", "--explain", CELL)
    assert "x: a number" in capsys.readouterr().out
    shell.run_cell_magic("derive", "--strict", r"$$ y^2 + 1 \ge 2 y $$")
    assert "UNREADABLE" in capsys.readouterr().out
    shell.run_cell_magic("derive", "--formulas", OPEN)
    assert "REFUTED" in capsys.readouterr().out
    shell.run_cell_magic("derive", "", OPEN)
    assert "UNDECIDED" in capsys.readouterr().out
    shell.run_cell_magic("derive", "--as-read", OPEN)
    assert "REFUTED" in capsys.readouterr().out
    assert not shell.user_ns


@pytest.mark.parametrize("line", ["--sceonds 3", "--seconds much", "'", "2x", "a b"])
def test_a_line_that_is_not_understood_is_said_in_one_line(
    shell: Shell, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    shell.run_cell_magic("derive", line, CELL)
    said = capsys.readouterr()
    assert not said.out and said.err.startswith("%%derive: ") and said.err.count("\n") == 1


def test_it_loads_in_ipython(capsys: pytest.CaptureFixture[str]) -> None:
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell()
    shell.run_line_magic("load_ext", "attention_core.derivation")
    shell.run_cell(f"%%derive found\n{CELL}", store_history=False)
    assert "REFUTED  square" in capsys.readouterr().out and shell.user_ns["found"].status == 1
