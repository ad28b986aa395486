"""The judge as its starter holds it: a process that answers questions about faults, started again where it is lost."""

from __future__ import annotations

import hashlib
import json
import queue
from collections.abc import Mapping
from typing import Any

from attention_core.audit.log import Log
from attention_core.audit.plan import Plan
from attention_core.declaration.implementation import TargetError
from attention_core.worker.frames import FrameError, TimedOut, receive, send
from attention_core.worker.process import WorkerProcess
from attention_core.worker.processes import Patience

LONGEST = 300.0
"""Seconds of its own time that a judge has for one answer."""


class Judging:
    """One judge.

    Args:
        target: of the audit.
        path: folders that the suite finds modules in.
        environment: of the process.
    """

    def __init__(self, target: str, path: tuple[str, ...], environment: Mapping[str, str]) -> None:
        self.target, self.path, self.environment = target, path, environment
        self.process: WorkerProcess | None = None

    def start(self) -> WorkerProcess:
        """The process, once it has imported the target.

        Raises: TargetError.
        """
        if self.process is None:
            self.process = WorkerProcess("attention_core.audit.judge", self.environment)
            self._exchange(self.process, {"target": self.target, "path": list(self.path)})
        return self.process

    def ask(self, what: str, plan: Plan, **more: Any) -> dict[str, Any]:
        """The answer to a question, as `Judge.answer` takes it.

        Raises: TargetError, with what stands against an answer.
        """
        return self._exchange(self.start(), {"ask": what, "plan": plan.to_json(), **more})

    def _exchange(self, process: WorkerProcess, message: dict[str, Any]) -> dict[str, Any]:
        try:
            send(process.write, message)
            answer = receive(process.read, process.watch(Patience(process.pid, LONGEST).is_expired))
        except TimedOut:
            self.close()
            raise TargetError(f"no answer about {self.target} within {LONGEST:.0f} s") from None
        except (FrameError, OSError):
            how = process.describe_end()
            self.close()
            raise TargetError(f"the process that imported {self.target} {how}") from None
        if "problem" in answer:
            error = TargetError(str(answer["problem"]))
            error.add_note(str(answer.get("traceback", "")))
            raise error
        return answer

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.end()
            self.process = None


class Judges:
    """Some judges, of which each answers one thread at a time; they start when they are first needed.

    Args:
        count: of judges. target, path, environment: as `Judging` takes them.
        answers: those that are known, also of earlier runs.
    """

    def __init__(
        self, count: int, target: str, path: tuple[str, ...], environment: Mapping[str, str], answers: Log
    ) -> None:  # fmt: skip
        self.answers = answers
        self.all = [Judging(target, path, environment) for _ in range(count)]
        self.free: queue.SimpleQueue[Judging] = queue.SimpleQueue()
        for judging in self.all:
            self.free.put(judging)

    def ask(self, what: str, plan: Plan, **more: Any) -> dict[str, Any]:
        """The answer to a question, which is the same whatever the suite.

        Raises: TargetError, with what stands against an answer.
        """
        conventions = json.dumps([plan.declared, plan.form], sort_keys=True, default=str)
        name = f"{what} {plan.fault} {more} {hashlib.sha256(conventions.encode()).hexdigest()[:16]}"
        if name not in self.answers.known:
            judging = self.free.get()
            try:
                self.answers.add(name, judging.ask(what, plan, **more))
            finally:
                self.free.put(judging)
        return self.answers.known[name]

    def close(self) -> None:
        """End all."""
        for judging in self.all:
            judging.close()
