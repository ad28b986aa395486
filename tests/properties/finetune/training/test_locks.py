"""Locks.

finetune.training.locks: one holder at a time; a lock ends with whoever held it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from finetune.errors import BadInput
from finetune.training.locks import lock_file, only_writer_of, try_lock

HOLD = """
import fcntl, os, sys, time
handle = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(handle, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(600)
"""


def test_one_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "lock"
    with lock_file(path):
        assert try_lock(path) is None
    held = try_lock(path)
    assert held is not None
    with held:
        assert try_lock(path) is None


def test_a_lock_ends_with_a_killed_process(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with subprocess.Popen([sys.executable, "-S", "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "held\n"
        assert try_lock(path) is None
        os.kill(other.pid, signal.SIGKILL)
        other.wait()
    assert try_lock(path) is not None


def test_a_file_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "round").symlink_to("round")
    for folder in ("file", "round"):
        with pytest.raises(
            BadInput, match=rf"lock cannot be made: .*{folder} is a file, or a link that leads to no folder"
        ):
            try_lock(tmp_path / folder / "lock")


def test_one_run_writes_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second gets one clear line; other processes of the same run get none."""
    path = tmp_path / "p.safetensors"
    with only_writer_of(path):
        with (
            pytest.raises(BadInput, match=r"another run is writing .*p.safetensors: wait for it"),
            only_writer_of(path),
        ):
            pass
        monkeypatch.setenv("RANK", "1")
        with only_writer_of(path):
            pass
    monkeypatch.delenv("RANK")
    with only_writer_of(path):
        pass


def test_a_link_shares_the_lock_of_what_it_points_to(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "p")
    with (
        only_writer_of(tmp_path / "p"),
        pytest.raises(BadInput, match="another run is writing"),
        only_writer_of(tmp_path / "link"),
    ):
        pass
