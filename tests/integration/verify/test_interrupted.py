"""Interrupting `attention-core verify`.

A run of two processes, each with a worker that hangs, is interrupted in the ways people and CI systems do it.
The targets leave their process ids, so that the test can see that none is left.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import attention_core

HOME = Path(attention_core.__file__).parents[1]
HANGS = """
import os, pathlib, time
def attention(query, key, value):
    pathlib.Path(f"{os.getpid()}.pid").touch()
    time.sleep(1000)
"""
PATIENCE = 90.0
"""Seconds until something that must happen counts as not happening."""


def wait_for(condition: object, what: str) -> None:
    assert callable(condition)
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.1)


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text() if Path("/proc").is_dir() else True


@pytest.mark.thorough(keep=("ctrl-c",))
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["ctrl-c", "timeout"])
def test_nothing_is_left_behind(tmp_path: Path, number: int, status: int) -> None:
    (tmp_path / "t.py").write_text(HANGS)
    path = os.pathsep.join(filter(None, [str(HOME), os.environ.get("PYTHONPATH", "")]))
    process = subprocess.Popen(
        [sys.executable, "-m", "attention_core.cli", "verify", "t.py:attention", "--array", "numpy", "--jobs", "2"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "PYTHONPATH": path},
        # a shell's background jobs ignore Ctrl-C, and so would what they start
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL) and None,
    )  # fmt: skip
    wait_for(lambda: len(list(tmp_path.glob("*.pid"))) == 2, "two workers have been called")
    if number == signal.SIGINT:  # a terminal tells the whole group, `timeout` and CI systems the process alone
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == status, out + err
    for word in ("Traceback", "leaked", "resource_tracker"):
        assert word not in out + err, err
    workers = [int(found.stem) for found in tmp_path.glob("*.pid")]
    wait_for(lambda: not any(map(is_there, workers)), "the workers have ended")


def test_a_worker_does_not_outlive_a_parent_that_was_killed(tmp_path: Path) -> None:
    """Nobody tells the worker: its target hangs, and a pipe that closes is not looked at."""
    (tmp_path / "t.py").write_text(HANGS)
    path = os.pathsep.join(filter(None, [str(HOME), os.environ.get("PYTHONPATH", "")]))
    process = subprocess.Popen(
        [sys.executable, "-m", "attention_core.cli", "verify", "t.py:attention", "--array", "numpy", "--effort", "quick"],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    wait_for(lambda: bool(list(tmp_path.glob("*.pid"))), "a worker has been called")
    process.kill()
    process.wait(PATIENCE)
    workers = [int(found.stem) for found in tmp_path.glob("*.pid")]
    wait_for(lambda: not any(map(is_there, workers)), "the worker has ended")
