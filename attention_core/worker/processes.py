"""Processes of a target: how much processor time they use, when they have stopped answering, and how to end them all.

A limit in seconds means the target's own time: what it computes, or sleeps, not what a busy machine makes it wait.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

MARK = "ATTENTION_CORE_WORKER"
"""A variable in the environment of a worker, by which the processes that it started are found again."""
BUSY = 10
"""So many times the limit by the clock end a call, however busy the machine is."""
COMPILING = 5
"""So many times the limit are allowed for the first call of each shape where the target is compiled."""
COMPILERS = (
    "torch._inductor",
    "torch.utils.cpp_extension",
    "cupy",
    "jax",
    "mlx",
    "numba",
    "tensorflow",
    "triton",
    "tvm",
)
"""Modules of which one is loaded where a target is compiled at its calls."""


class Patience:
    """Whether a process has used up the time that it has for an answer; polled while the caller waits.

    Its own time is what it and its children compute, and what they all sleep.

    Args: pid, of the process; limit, seconds of its own time. `clock` and `look` are replaced by tests: the seconds
        now, and the processor time of the process so far with whether any of its threads wants to run.
    """

    def __init__(
        self, pid: int, limit: float, *, clock: Callable[[], float] = time.monotonic,
        look: Callable[[int], tuple[float, bool]] | None = None,
    ) -> None:  # fmt: skip
        self.pid, self.limit, self.clock, self.look = pid, limit, clock, look or processor_time
        self.start = self.last = clock()
        self.used: float | None = None  # not looked at yet: most calls answer before, and looking takes milliseconds
        self.own = 0.0

    def is_expired(self) -> bool:
        """Whether the time is used up."""
        now = self.clock()
        used, runs = self.look(self.pid)
        step = now - self.last
        self.own += step if self.used is None or not runs else min(step, max(0.0, used - self.used))
        self.last, self.used = now, max(used, self.used or 0.0)
        waited = now - self.start
        return waited >= self.limit and (self.own >= self.limit or waited >= BUSY * self.limit)

    def words(self) -> str:
        """The time waited in words, as "within 60 s", and the elapsed time if the machine was busy."""
        waited = self.last - self.start
        if waited < 1.5 * self.limit + 1:
            return f"within {self.limit:g} s"
        if self.own < self.limit:
            return f"within {waited:.0f} s, of which a busy machine left it {self.own:.1f} s to run"
        return f"within {self.limit:g} s of its own ({waited:.0f} s by the clock, as the machine was busy)"


def processor_time(pid: int) -> tuple[float, bool]:
    """Seconds that a process and its descendants have computed, and whether any of their threads wants to run."""
    seconds, runs = 0.0, False
    for process in family(pid):
        with contextlib.suppress(Exception):  # it may be gone
            times = process.cpu_times()
            seconds += times.user + times.system + times.children_user + times.children_system
            runs = runs or wants_to_run(process)
    return seconds, runs


def family(pid: int) -> list[Any]:
    """A process and its descendants, as `psutil` knows them; empty once it is gone."""
    import psutil

    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.Error:
        return []


def wants_to_run(process: Any) -> bool:
    """Whether a thread of a process runs, or would if it had a processor."""
    tasks = Path(f"/proc/{process.pid}/task")
    if not tasks.is_dir():
        return bool(process.status() == "running")
    for task in tasks.iterdir():
        with contextlib.suppress(OSError):
            if (task / "stat").read_text(errors="replace").rpartition(")")[2].split()[0] == "R":
                return True
    return False


def find_marked_processes(mark: str) -> Iterator[Any]:
    """The processes whose environment holds a mark: a worker's, also those that left its session and its parent."""
    import psutil

    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and process.environ().get(MARK) == mark:
                yield process


def end_all(pid: int, mark: str) -> None:
    """End a process, its session, its descendants and whatever carries its mark."""
    for _ in range(3):  # what is started meanwhile is found at the next look
        found = [*family(pid), *find_marked_processes(mark)]
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        for process in found:
            with contextlib.suppress(Exception):
                process.kill()
        if not [process for process in found if process.pid != pid]:
            return
