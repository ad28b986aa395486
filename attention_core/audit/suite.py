"""Runs the user's own suite in a process of its own, and leaves nothing in its tree."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from attention_core.audit.plan import Plan
from attention_core.worker.frames import FrameError, TimedOut, receive, send
from attention_core.worker.process import WorkerProcess
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
    own = ["-q", "-o", f"cache_dir={folder}", "-p", "no:randomly"]
    own += ["--no-cov"] if find_spec("pytest_cov") else []
    own += [f"--benchmark-storage=file://{folder}"] if find_spec("pytest_benchmark") else []
    own += ["-x"] if first else []
    own += ["--hypothesis-seed=0"] if find_spec("hypothesis") else []
    return (*own, *more, *tests)


def suite_environment(folder: str) -> dict[str, str]:
    """The caller's environment, in which Python, Hypothesis and coverage write elsewhere than into the tree."""
    threads = {"OMP_NUM_THREADS": "1"} if "OMP_NUM_THREADS" not in os.environ else {}
    kept = {
        "PYTHONDONTWRITEBYTECODE": "1", "HYPOTHESIS_STORAGE_DIRECTORY": folder,
        "COVERAGE_FILE": str(Path(folder) / "coverage"), "PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "0"),
    }  # fmt: skip
    return {**os.environ, **threads, **kept}


def run_suite(
    plan: Plan, tests: Sequence[str], more: Sequence[str] = (), *, limit: float, first: bool = False
) -> SuiteRun:  # fmt: skip
    """Run pytest as the plan says.

    Args: tests, more, first as `pytest_arguments` takes them; limit, seconds of the process's own time.
    """
    with TemporaryDirectory(prefix="attention-core-audit-") as folder:
        arguments = pytest_arguments(tests, more, folder, first=first)
        run, start = SuiteRun(), time.perf_counter()
        process = WorkerProcess("attention_core.audit.child", suite_environment(folder))
        try:
            send(process.write, Plan(**{**vars(plan), "arguments": arguments}).to_json())
            _listen(run, process, limit)
        finally:
            process.end()
        run.seconds = time.perf_counter() - start
        return run


def _listen(run: SuiteRun, process: WorkerProcess, limit: float) -> None:
    """Take in what the process tells, until it has ended, died, or used up its time."""
    patience, running, calls = Patience(process.pid, limit), "collection", 0
    try:
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
                return
    except TimedOut:
        run.hung = running
    except (FrameError, OSError):
        run.died = process.describe_end()
