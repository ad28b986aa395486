"""The request for an audit, and how one fault is tried: first the laws answer, then the suite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from attention_core.audit.choice import subject
from attention_core.audit.judge_client import Judges
from attention_core.audit.log import Log, open_logs
from attention_core.audit.plan import Plan
from attention_core.audit.results import REFUSED, UNSEEN, Fate
from attention_core.audit.suite import SuiteRun, Suites
from attention_core.conformance.engine.verify import saved_fields
from attention_core.conformance.report.shards import Shard
from attention_core.declaration.implementation import TargetError
from attention_core.faults.row import Row

QUICK = 40
"""Faults that count, unless all are wanted."""


@dataclass
class Request:
    """A request for an audit.

    Args:
        target: package.module:name or path/to/file.py:name. tests: files, folders and node ids.
        fields: what the user declares of the target. pytest_arguments: given on to pytest.
        count: faults that should count; None for all. seed: of their choice. floor: the least score that passes.
        processes: suites that run at once. timeout: seconds of a suite with a fault in place; None to measure.
        cases: whether the smallest cases of survivors are looked for.
        keeps: whether what is done is kept, so that a run goes on; log_path, laws_path: where, None for
            the user's cache.
        log: of what is done. answers: those of the laws, which hold for any suite.
        shard: which part of the faults the suite is run on, and of how many; None for all.
    """

    target: str
    tests: tuple[str, ...]
    fields: Mapping[str, Any] = field(default_factory=dict)
    pytest_arguments: tuple[str, ...] = ()
    count: int | None = QUICK
    seed: int = 0
    floor: float = 1.0
    processes: int = 1
    timeout: float | None = None
    cases: bool = True
    keeps: bool = False
    log_path: Path | None = None
    laws_path: Path | None = None
    log: Log = field(default_factory=lambda: Log(None, ""))
    answers: Log = field(default_factory=lambda: Log(None, ""))
    shard: Shard | None = None

    def open_logs(self, file: str) -> None:
        """Go on where an earlier run on the same files was ended; `file` defines the target."""
        if self.keeps:
            fields, suite = saved_fields(self.fields), list[Any]([self.pytest_arguments, self.timeout])
            suite += ["in shards"] if self.shard is not None else []  # where tests are tried on their own faults alone
            logs = open_logs(self.target, file, self.tests, fields, suite, self.log_path, self.laws_path)
            self.log, self.answers = logs

    def plan(self, mode: str = "plain", **more: Any) -> Plan:
        """A run of the suite."""
        return Plan(self.target, mode, declared=saved_fields(self.fields), **more)

    def run(self, suites: Suites, plan: Plan, limit: float, *, first: bool = False) -> SuiteRun:
        """Run the suite as a plan says."""
        return suites.run(plan, self.tests, self.pytest_arguments, limit=limit, first=first)


@dataclass
class Trial:
    """How one fault is tried."""

    request: Request
    judges: Judges
    suites: Suites
    plan: Plan
    limit: float

    def close(self) -> None:
        """End all processes, where a run is broken off."""
        self.judges.close()
        self.suites.close()

    def fate(self, row: Row) -> Fate:
        """What becomes of a fault; what the log knows is not done again."""
        known = self.request.log.known.get(row.name)
        if known is not None:
            return restore(known)
        fate = self.try_fault(row)
        self.request.log.add(row.name, asdict(fate))
        return fate

    def ask_laws(self, row: Row) -> Fate:
        """Ask the laws alone: "left_out" where none of them can tell it, else "survived", as no suite has run."""
        fate = Fate(row.name, row.about, subject(row), row.source)
        answer = self.judges.ask("fault", replace(self.plan, fault=row.name))
        if answer["law"]:
            return replace(fate, law=str(answer["law"]), status="survived")
        refused = str(answer.get("refused", ""))
        return replace(fate, words=f"{REFUSED} ({refused})" if refused else UNSEEN)

    def try_fault(self, row: Row) -> Fate:
        """Ask the laws, and if they can tell it, the suite."""
        fate, plan = self.ask_laws(row), replace(self.plan, fault=row.name)
        if not fate.law:
            return fate
        run = self.request.run(self.suites, plan, self.limit, first=True)
        if run.end.get("problem"):
            raise TargetError(str(run.end["problem"]))
        status = "hung" if run.hung else "died" if run.died else "killed" if run.bad else "survived"
        by = run.hung or (run.bad[0] if run.bad else "")
        words = run.died or " ".join(run.words.get(by, "").split())[:300]
        return replace(fate, status=status, killed_by=by, words=words, seconds=round(run.seconds, 2), calls=run.calls)


def restore(known: Mapping[str, Any]) -> Fate:
    """Read a fate from the log."""
    own = {name: value for name, value in known.items() if name in Fate.__dataclass_fields__}
    values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in own.items()}
    return Fate(**values)
