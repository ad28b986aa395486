"""A process under the grader's hand: stopped between its calls, timed from outside, its answers taken while it stands.

The clock is the grader's. A call lasts from the moment at which the stopped process is let go, with its inputs already
in the arena, to the moment at which it says that its answer is in the arena. It is stopped again before anybody looks
at the answer, so that no thread of its own finishes late.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attention_core.grading.arena import Arena, Field
from attention_core.grading.rules import Refused
from attention_core.worker.environment import hide_initial_environment, worker_environment
from attention_core.worker.frames import FrameError, TimedOut, receive, send
from attention_core.worker.process import WorkerProcess, memory_limit
from attention_core.worker.processes import Patience, family, find_marked_processes

PR_SET_CHILD_SUBREAPER = 36
STARTING = 120.0
"""Seconds of its own time that a process has to load what it is called on."""
MODULE = "attention_core.grading.child"
SEEN = "not_a_tensor", "wrong_shape"
"""Rules that the process itself names in its answer to a call."""


class Player:
    """One process.

    Args:
        hello: the first message, as `child.Server` takes it.
        patience: seconds of its own time for each answer.
        place: working directory of the process.
    """

    def __init__(self, hello: Mapping[str, Any], patience: float, place: Path | None = None) -> None:
        hide_initial_environment()
        # torch's compiler would keep a pool of processes, which looks like what a cheat leaves behind
        environment = worker_environment(int(hello["threads"])) | {"TORCHINDUCTOR_COMPILE_THREADS": "1"}
        self.patience, self.stopped, self.closed = patience, False, False
        folder = os.getcwd()
        try:
            if place is not None:
                os.chdir(place)
            # -P: a file of the submission's folder that is named like a module is not imported in its place
            self.process = WorkerProcess(MODULE, environment, flags=("-P",))
        finally:
            os.chdir(folder)
        send(self.process.write, {**hello, "memory": memory_limit("cpu")})
        self.computed = 0.0  # seconds of processor time in timed calls
        self.waited = 0.0  # seconds by the clock in these
        self.arena: Arena | None = None

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self.process.pid

    def greet(self) -> None:
        """Wait until it has loaded what it is called on.

        Raises: Refused.
        """
        greeting = self._receive(max(self.patience, STARTING))
        if greeting.get("event") != "ready":
            raise Refused("raises", str(greeting.get("message", "it did not start")))

    def bind(self, fields: Sequence[Field], **more: Any) -> Arena:
        """Share an arena with it."""
        self.arena = Arena(fields)
        try:
            self.ask("bind", fields=[field.to_json() for field in fields], path=self.arena.path, **more)
        finally:
            self.arena.forget()
        return self.arena

    def ask(self, do: str, **more: Any) -> dict[str, Any]:
        """The answer to a message that is not timed.

        Raises: Refused, with what it raised, or how it ended.
        """
        self.go_on()
        self._send({"do": do, **more})
        answer = self._receive()
        if "raised" in answer:
            raise Refused("raises", f"{do}: {answer['raised']}" if do != "bind" else str(answer["raised"]))
        return answer

    def call(self, do: str = "call") -> tuple[float, dict[str, Any]]:
        """Let it compute once: seconds by this process's clock, and what it says. It stands stopped afterwards.

        Raises: Refused.
        """
        self.stop()
        self._send({"do": do})
        before = self.processor_seconds()
        start = time.perf_counter_ns()
        self.go_on()
        answer = self._receive()
        seconds = (time.perf_counter_ns() - start) * 1e-9
        self.stop()
        if do == "call":
            self.computed += self.processor_seconds() - before
            self.waited += seconds
        return seconds, answer

    def stop(self) -> None:
        """Stop every thread of it, and return once they stand."""
        if self.stopped:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGSTOP)
            flags = os.WSTOPPED | os.WEXITED | os.WNOWAIT
            if (state := os.waitid(os.P_PID, self.pid, flags)) and state.si_code == os.CLD_STOPPED:
                os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG)  # a stop is reported once
        self.stopped = True

    def go_on(self) -> None:
        """Let it run."""
        if self.stopped:
            self.stopped = False
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGCONT)

    def processor_seconds(self) -> float:
        """Processor time of all its threads so far, in steps of the system's ticks; 0 where it does not say.

        It stands still between calls, so that the steps' errors of calls in a row cancel.
        """
        try:
            stat = Path(f"/proc/{self.pid}/stat").read_text(errors="replace")
        except OSError:
            return 0.0
        fields = stat.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")  # utime and stime of proc(5)

    def others(self) -> list[str]:
        """Processes that it has started and not ended, by name: those with its mark, and its descendants."""
        marked = [process.pid for process in find_marked_processes(self.process.mark)]
        own = [process.pid for process in family(self.pid)]
        return describe_processes({*marked, *own} - {self.pid})

    def scheduling(self) -> tuple[Any, ...]:
        """Its priority, and the processors that it may run on."""
        return scheduling(self.pid)

    def _send(self, message: Mapping[str, Any]) -> None:
        with contextlib.suppress(FrameError):  # then nothing is received either, which says how it ended
            send(self.process.write, dict(message))

    def _receive(self, limit: float = 0.0) -> dict[str, Any]:
        patience = Patience(self.pid, limit or self.patience)
        try:
            return receive(self.process.read, self.process.watch(patience.is_expired))
        except TimedOut:
            self.close()
            raise Refused("hung", f"no answer {patience.words()}") from None
        except (FrameError, OSError):
            how = self.process.describe_end()
            self.close()
            raise Refused("died", f"its process {how}") from None

    def close(self) -> None:
        """End it and everything it started."""
        if not self.closed:
            self.closed = True
            self.go_on()
            self.process.end()


def scheduling(pid: int) -> tuple[Any, ...]:
    """The priority of a process, and the processors that it may run on, as far as the system says."""
    found: list[Any] = []
    with contextlib.suppress(OSError):
        found.append(os.getpriority(os.PRIO_PROCESS, pid))
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            found += [os.sched_getscheduler(pid), tuple(sorted(os.sched_getaffinity(pid)))]
    return tuple(found)


def describe_processes(pids: Iterable[int]) -> list[str]:
    """Processes by name and number; those that have ended are left out."""
    import psutil

    found = []
    for pid in sorted(pids):
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(pid)
            if process.status() != psutil.STATUS_ZOMBIE:
                found.append(f"{process.name()} ({pid})")
    return found


def adopt_orphans() -> None:
    """On Linux, let processes whose parents have ended become children of this one, whatever session they are in."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def find_strangers(*players: Player) -> list[str]:
    """Descendants of this process that are none of some players: what they have started, wherever it went."""
    known = {os.getpid(), *(player.pid for player in players)}
    return describe_processes({process.pid for process in family(os.getpid())} - known)
