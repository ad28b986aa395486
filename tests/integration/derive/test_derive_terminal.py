"""`derive` in a terminal: how far it is, on standard error, and `--watch` until Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from attention_core.cli import main

TEXT = "Let $x \\in \\mathbb{R}$.\n\n$$ (x + 1)^2 = x^2 + 2 x + 1 \\tag{square} $$\n"
COMMAND = (sys.executable, "-m", "attention_core", "derive")


def read_all(terminal: int) -> str:
    """What is written to a terminal until its last writer closes it."""
    pieces = []
    with contextlib.suppress(OSError):  # so its end is told
        while piece := os.read(terminal, 4096):
            pieces.append(piece)
    os.close(terminal)
    return b"".join(pieces).decode()


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "a.md"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_a_terminal_sees_how_far_the_document_is_and_a_pipe_does_not(document: Path) -> None:
    pytest.importorskip("pty")
    ours, theirs = os.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200"}
    environment.pop("NO_COLOR", None)
    command = [*COMMAND, str(document)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=environment) as run:
        os.close(theirs)
        shown = read_all(ours)  # while it runs: a terminal that is not read holds its writer up
        printed, _ = run.communicate()
    assert run.returncode == 0 and "square" in shown and "1/1" in shown
    piped = subprocess.run(command, capture_output=True, check=False)
    assert piped.stderr == b"" and piped.stdout == printed


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
def test_ctrl_c_ends_a_watch_with_the_status_of_what_was_found(document: Path) -> None:
    command = [*COMMAND, "--watch", str(document)]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL) and None,  # a shell's background jobs ignore it
    ) as run:
        assert run.stdout is not None and run.stderr is not None
        while "1 of 1 steps" not in run.stdout.readline():
            assert run.poll() is None
        run.send_signal(signal.SIGINT)
        said = run.stderr.read()
    assert run.returncode == 0 and not said


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--watch", "--html", "page.html"], "--watch only prints"),
        (["--watch", "--github"], "--watch only prints"),
        (["--lsp"], "--lsp takes no FILE"),
    ],
)
def test_options_that_do_not_go_together_are_refused(document: Path, options: list[str], why: str) -> None:
    run = CliRunner().invoke(main, ["derive", str(document), *options])
    assert run.exit_code == 2 and why in run.output
