"""Runs the user's own suite in a process of its own, and leaves nothing in its tree."""

from __future__ import annotations

import os
import queue
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from attention_core.audit.plan import Plan
from attention_core.declaration.implementation import TargetError
from attention_core.worker.frames import FrameError, TimedOut, receive, send
from attention_core.worker.process import WorkerProcess, describe_status
from attention_core.worker.processes import Patience

BAD = ("failed", "error")
"""Outcomes of a test that make a suite fail."""


@dataclass
class SuiteRun:
    """What one run of the suite came to.

    Args:
        outcomes: node id -> "passed", "failed", "error" (in a fixture, or while collecting), "skipped", "xfailed", ...
        words: node id -> what a failure says.
        status: pytest's exit status; None where the process was lost.
        seconds: by the clock.
        hung: the test that ran when the time was up, "collection" before any, else "".
        died: how the process ended where it died, else "".
        calls: how often the target was called, and what became of the calls.
        called_by: node ids of the tests that called the target.
        end: the last message of the process.
    """

    outcomes: dict[str, str] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    status: int | None = None
    seconds: float = 0.0
    hung: str = ""
    died: str = ""
    calls: dict[str, int] = field(default_factory=dict)
    called_by: list[str] = field(default_factory=list)
    end: dict[str, Any] = field(default_factory=dict)

    @property
    def bad(self) -> list[str]:
        """The tests that failed, in the order in which they ran."""
        return [name for name, outcome in self.outcomes.items() if outcome in BAD]

    @property
    def passes(self) -> list[str]:
        """The tests that passed."""
        return [name for name, outcome in self.outcomes.items() if outcome == "passed"]

    def note(self, message: Mapping[str, Any]) -> None:
        """Take in how a test went: a failure in a fixture is an error, and stays the outcome."""
        name, when, outcome = str(message["test"]), message["when"], str(message["outcome"])
        if outcome == "failed":
            outcome = "failed" if when == "call" else "error"
            self.words.setdefault(name, str(message["words"]))
        if self.outcomes.get(name) in BAD or (when == "teardown" and outcome == "passed"):
            return
        if when != "setup" or outcome != "passed":
            self.outcomes[name] = outcome


def pytest_arguments(tests: Sequence[str], more: Sequence[str], folder: str, *, first: bool) -> tuple[str, ...]:
    """How pytest is called so that nothing is left in the tree and no order is drawn.

    Args: tests, files, folders and node ids; more, arguments of the user's; folder, for what pytest keeps;
        first, end at the first failure.
    """
    own = ["-q", "-o", f"cache_dir={folder}", "-p", "no:randomly", f"--basetemp={folder}/tmp"]
    own += ["--no-cov"] if find_spec("pytest_cov") else []
    own += [f"--benchmark-storage=file://{folder}"] if find_spec("pytest_benchmark") else []
    own += ["-x"] if first else []
    own += ["--hypothesis-seed=0"] if find_spec("hypothesis") else []
    return (*own, *more, *tests)


def suite_environment(folder: str) -> dict[str, str]:
    """The caller's environment, in which Python, Hypothesis and coverage write elsewhere than into the tree."""
    threads = {"OMP_NUM_THREADS": "1"} if "OMP_NUM_THREADS" not in os.environ else {}
    fixed = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "0")}
    return {**os.environ, **threads, **fixed, **folders_of(folder)}


def folders_of(folder: str) -> dict[str, str]:
    """Variables that say where Hypothesis and coverage write."""
    return {"HYPOTHESIS_STORAGE_DIRECTORY": folder, "COVERAGE_FILE": str(Path(folder) / "coverage")}


class Suites:
    """Processes in which the suite runs, of which each does one run at a time; they start when they are first needed.

    Args: count, of the processes; folder, for what they keep until they end.
    """

    def __init__(self, count: int, folder: str) -> None:
        self.folder, self.bytecode = folder, str(Path(folder) / "bytecode")
        self.closed = False
        self.free: queue.SimpleQueue[list[WorkerProcess]] = queue.SimpleQueue()
        self.all: list[list[WorkerProcess]] = [[] for _ in range(count)]  # each holds one process at most
        for one in self.all:
            self.free.put(one)

    def run(
        self, plan: Plan, tests: Sequence[str], more: Sequence[str] = (), *, limit: float, first: bool = False
    ) -> SuiteRun:  # fmt: skip
        """Run pytest as a plan says.

        Args: tests, more, first as `pytest_arguments` takes them; limit, seconds of the run's own time.

        Raises: TargetError, where all were ended meanwhile: what dies then says nothing of a fault.
        """
        one = self.free.get()
        try:
            if self.closed:
                raise TargetError("the audit was broken off")
            if not one:
                one.append(WorkerProcess("attention_core.audit.child", suite_environment(self.folder)))
            with TemporaryDirectory(dir=self.folder) as folder:
                arguments = pytest_arguments(tests, more, folder, first=first)
                whole = replace(plan, arguments=arguments, environment=folders_of(folder), bytecode=self.bytecode)
                run, start = SuiteRun(), time.perf_counter()
                process = one[0]
                _listen(run, process, whole, limit)
                run.seconds = time.perf_counter() - start
                if self.closed:
                    raise TargetError("the audit was broken off")
                if run.hung or run.died:  # what the run left behind ends with its process
                    one.clear()
                    process.end()
            return run
        finally:
            self.free.put(one)

    def close(self) -> None:
        """End all."""
        self.closed = True
        for one in self.all:
            while one:
                one.pop().end()


def _listen(run: SuiteRun, process: WorkerProcess, plan: Plan, limit: float) -> None:
    """Take in what a run sends, until it has ended, died, or used up its time."""
    patience, running, calls = Patience(process.pid, limit), "collection", 0
    try:
        send(process.write, plan.to_json())
        while True:
            message = receive(process.read, process.watch(patience.is_expired))
            if "start" in message:
                running = str(message["start"])
            elif "test" in message:
                run.note(message)
                now = int(message.get("calls", 0))
                if now > calls and message["test"] not in run.called_by:
                    run.called_by.append(str(message["test"]))
                calls = max(now, calls)
            elif "end" in message:
                run.status, run.calls, run.end = int(message["end"]), dict(message["calls"]), message
            elif "status" in message:
                if run.status is None:
                    run.died = f"{describe_status(int(message['status']))} in {running}"
                return
    except TimedOut:
        run.hung = running
    except (FrameError, OSError):
        run.died = process.describe_end()
