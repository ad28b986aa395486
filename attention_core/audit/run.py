"""An audit from its beginning to its end: the suite on what is right, then on one fault after another."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import replace
from importlib.metadata import version
from itertools import count
from tempfile import TemporaryDirectory
from typing import Any

from attention_core.audit.baseline import about_calls, run_baseline, single_form, summary, too_strict
from attention_core.audit.choice import candidates, likely_first, split_by_parameters
from attention_core.audit.judge_client import Judges
from attention_core.audit.plan import Plan
from attention_core.audit.results import Audit, Fate
from attention_core.audit.suite import SuiteRun, Suites, suite_environment
from attention_core.audit.survivors import find_case, with_cases
from attention_core.audit.trial import Request, Trial
from attention_core.conformance.report.shards import Shard
from attention_core.declaration.implementation import Implementation, TargetError
from attention_core.faults.row import Row

STARTING, TIMES = 20.0, 5.0
"""Seconds of its own time that a suite has with a fault in place: for starting, and so many times what it needs."""
Progress = Callable[[str, int, int], None]
"""Called with what is done now, how many faults are judged, and of how many."""
SHOWN = 5
"""Survivors that are told as soon as they are found; the report has all of them."""


def audit(request: Request, progress: Progress | None = None, note: Callable[[str], None] | None = None) -> Audit:
    """Audit a suite.

    Args: progress, told how far it is; note, takes a line for each of the first survivors as soon as it is found.

    Raises: TargetError, in one line, where nothing can be judged.
    """
    rows = candidates(str(request.fields.get("contract", "attention")), request.seed)
    tell = progress or (lambda *_: None)
    tell("running the suite as it is", 0, 0)
    with TemporaryDirectory(prefix="attention-core-audit-") as folder, ExitStack() as opened:
        suites = Suites(request.processes, folder)
        opened.callback(suites.close)
        watched, seconds = run_baseline(request, suites)
        path = tuple(watched.end["path"])
        request.open_logs(str(watched.end["file"]))
        judges = Judges(request.processes, request.target, path, suite_environment(folder), request.answers)
        opened.callback(judges.close)
        result, trial = prepare(Trial(request, judges, suites, request.plan(), 0.0), watched, seconds, tell)
        declared = Implementation(None, **trial.plan.fields())
        rows, absent = split_by_parameters(rows, declared, result.claims)
        rows = likely_first(rows, declared, result.claims)
        result.notes += absent
        tell(describe_run(request, len(rows), seconds), 0, min(len(rows), request.count or len(rows)))
        judge = trial.fate if note is None else Announcer(trial, note).judge
        if request.shard is None:
            result.fates = judge_faults(request, rows, judge, trial.close, tell)
        else:
            result.shard = choose_shard(request, rows, trial, tell)
            by_name, alone = {row.name: row for row in rows}, replace(request, count=None)
            own = [by_name[name] for name in result.shard.choose()]
            result.fates = judge_faults(alone, own, judge, trial.close, tell)
        if request.cases:
            result.fates = with_cases(result.fates, trial, path, tell)
        return result


def describe_run(request: Request, rows: int, seconds: float) -> str:
    """How many faults an audit takes, and what each of them costs.

    Args: rows, the number of faults that may show in the target's place; seconds, of the suite.
    """
    which = f"up to {min(request.count or rows, rows)} of {rows} faults"
    part = "" if request.shard is None else f" of which this is shard {request.shard}"
    return (
        f"trying {which}{part}, {request.processes} at a time: the laws judge each for a few seconds, then the suite "
        f"runs on it ({seconds:.1f} s); the smallest case of each survivor comes last"
    )


def prepare(bare: Trial, watched: SuiteRun, seconds: float, tell: Progress) -> tuple[Audit, Trial]:
    """The audit before any fault, and how faults are tried.

    Raises: TargetError.
    """
    request, judges = bare.request, bare.judges
    tell("looking for the target's conventions", 0, 0)
    look = judges.ask("look", bare.plan)
    form = single_form(request.target, watched.end["forms"])
    plan = Plan(request.target, "replace", declared=look["declared"], form=form)
    tell("running the suite with a correct implementation in the target's place", 0, 0)
    limit = request.timeout or STARTING + TIMES * seconds
    with ThreadPoolExecutor(1) as pool:  # the laws and the suite at once
        judged = pool.submit(judges.ask, "fault", plan)
        try:
            right = request.run(bare.suites, plan, limit)
        except BaseException:
            bare.close()
            raise
    prove(request.target, judged.result())
    strict = too_strict(request, watched, right)
    result = Audit(
        request.target, request.tests, look["declared"], look["options"], claims=tuple(look["claims"]),
        seed=request.seed, floor=request.floor,
        whole=request.count is None, too_strict=strict, baseline=summary(watched, right, seconds),
        versions={"python": platform.python_version(), "torch": version("torch"), "pytest": version("pytest")},
        notes=[*look["notes"], *about_calls(right)],
    )  # fmt: skip
    return result, replace(bare, plan=replace(plan, leave_out=tuple(strict)), limit=limit)


def prove(target: str, found: Mapping[str, Any]) -> None:
    """Refuse a target in whose place a right implementation would be refuted. Raises: TargetError."""
    if found["law"]:
        raise TargetError(
            f"a right implementation in place of {target} does not follow its conventions "
            f"({found['law']}: {found['message']}): declare them as for verify, or report this"
        )


class Announcer:
    """Judges faults, and tells the first survivors with their smallest cases, which are needed in the end anyway.

    Args: trial, judges; note, takes a line.
    """

    def __init__(self, trial: Trial, note: Callable[[str], None]) -> None:
        self.trial, self.note, self.shown = trial, note, count()

    def judge(self, row: Row) -> Fate:
        """What becomes of one fault."""
        fate = self.trial.fate(row)
        if fate.status == "survived" and next(self.shown) < SHOWN:
            self.note(self.describe(fate))
        return fate

    def describe(self, fate: Fate) -> str:
        """One survivor in a line."""
        found = find_case(fate, self.trial, rank=0) if self.trial.request.cases else fate
        shown = f" ({found.law}: {found.case})" if found.case else f" ({found.law})"
        return f"survives: {fate.name}: {fate.about}{shown}"


def choose_shard(request: Request, rows: list[Row], trial: Trial, tell: Progress) -> Shard:
    """The shard, with the faults of the whole run in their order: which these are, the laws say, whatever the suite."""
    assert request.shard is not None
    whole = judge_faults(request, rows, trial.ask_laws, trial.close, tell)
    return replace(request.shard, targets=tuple(fate.name for fate in whole))


def judge_faults(
    request: Request, rows: list[Row], judge: Callable[[Row], Fate], close: Callable[[], None], tell: Progress
) -> list[Fate]:
    """The fates of faults in their order, until as many count as are wanted.

    How many processes there are does not change what is chosen: what was judged beyond is left out.

    Args: judge, what becomes of one fault; close, ends all processes where the run is broken off.
    """
    wanted = len(rows) if request.count is None else request.count
    fates: dict[int, Fate] = {}
    waiting: dict[Future[Fate], int] = {}
    ahead = iter(enumerate(rows))
    with ThreadPoolExecutor(request.processes) as pool:
        counted = 0
        try:
            while True:
                while len(waiting) < request.processes and counted < wanted:
                    number, row = next(ahead, (None, None))
                    if number is None or row is None:
                        break
                    waiting[pool.submit(judge, row)] = number
                if not waiting:
                    break
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for each in done:
                    fates[waiting.pop(each)] = each.result()
                counted = sum(fate.status != "left_out" for fate in fates.values())
                tell(describe_count(fates.values()), min(counted, wanted), wanted)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            close()
            raise
    return take_counted([fates[number] for number in sorted(fates)], wanted)


def describe_count(fates: Iterable[Fate]) -> str:
    """What is being counted, with the survivors so far.

    >>> describe_count([Fate("a", "", "", status="killed")])
    'faults counted'
    >>> describe_count([Fate("a", "", "", status="killed"), Fate("b", "", "", status="survived")])
    'faults counted (1 survives so far)'
    """
    survive = sum(fate.status == "survived" for fate in fates)
    return "faults counted" + (f" ({survive} survive{'s' * (survive == 1)} so far)" if survive else "")


def take_counted(fates: list[Fate], wanted: int) -> list[Fate]:
    """The fates up to the one that makes the number of those that count full."""
    found: list[Fate] = []
    for fate in fates:
        if sum(each.status != "left_out" for each in found) == wanted:
            break
        found.append(fate)
    return found
