"""What must be so before any fault is tried.

The suite passes as it is, gives the same twice, calls the target, and passes with another right implementation in its
place; single tests that do not are left out.
"""

from __future__ import annotations

from typing import Any

from attention_core.audit.suite import SuiteRun, Suites
from attention_core.audit.trial import Request
from attention_core.declaration.implementation import TargetError

BASELINE_LIMIT = 3600.0
"""Seconds of its own time that a suite has as it is."""


def run_baseline(request: Request, suites: Suites) -> tuple[SuiteRun, float]:
    """The suite on the target as it is, twice, with its calls counted the second time; seconds of the slower run.

    Raises: TargetError, where the suite says nothing that could be compared with.
    """
    plain = request.run(suites, request.plan(), BASELINE_LIMIT)
    require_success(plain)
    watched = request.run(suites, request.plan("watch"), BASELINE_LIMIT)
    if problem := watched.end.get("problem"):
        raise TargetError(str(problem))
    require_same(plain, watched)
    require_calls(request.target, watched)
    return watched, max(plain.seconds, watched.seconds)


def require_success(run: SuiteRun) -> None:
    """Refuse a suite that fails on the user's own function. Raises: TargetError."""
    if run.hung or run.died:
        how = f"had not ended after {BASELINE_LIMIT:.0f} s, in {run.hung}" if run.hung else run.died
        raise TargetError(
            f"the suite on the target as it is: its process {how}; try the same with `python -m pytest` first"
        )
    if run.bad:
        first = run.bad[0]
        line = " ".join(run.words.get(first, "").split())[:200]
        more = f" and {len(run.bad) - 1} more" if len(run.bad) > 1 else ""
        raise TargetError(
            f"the suite fails on the target as it is, in {first}{more}: mend it, or leave it out with "
            f"`-- --deselect {first}` ({line})"
        )
    if run.status == 4 or not run.outcomes:
        what = "pytest does not understand its arguments" if run.status == 4 else "pytest collects no test"
        raise TargetError(f"{what}: try the same with `python -m pytest` first")
    if not run.passes:
        raise TargetError("no test passes on the target as it is: all are skipped or expected to fail")


def require_same(first: SuiteRun, second: SuiteRun) -> None:
    """Refuse a suite that does not give the same twice. Raises: TargetError."""
    names = [name for name in {**first.outcomes, **second.outcomes}
             if first.outcomes.get(name) != second.outcomes.get(name)]  # fmt: skip
    if second.hung or second.died:
        raise TargetError(f"the suite passed, and ended otherwise the second time ({second.hung or second.died})")
    if names:
        before, after = (run.outcomes.get(names[0], "not there") for run in (first, second))
        raise TargetError(
            f"the suite does not give the same twice, {names[0]} was {before}, then {after}: seed it, or leave it out "
            f"with `-- --deselect {names[0]}`"
        )


def require_calls(target: str, run: SuiteRun) -> None:
    """Refuse a suite that has nothing to do with the target. Raises: TargetError."""
    if lacks := run.end.get("lacks"):
        raise TargetError(f"the module of {target} has no such function{lacks}")
    if not run.end.get("imported"):
        where = target.rpartition(":")[0]
        raise TargetError(
            f"the tests never import {where}, so nothing of it is tested: name the module as the tests import it, or "
            "other tests"
        )
    if not run.calls.get("all"):
        raise TargetError(
            f"the suite never calls the target, so every fault would pass: {len(run.passes)} tests passed without "
            f"a call of {target}"
        )


def single_form(target: str, forms: list[dict[str, Any]]) -> dict[str, Any]:
    """The form in which the target answered. Raises: TargetError, where there was more than one."""
    if len(forms) > 1:
        kinds = ", ".join(str(form["kind"]) for form in forms)
        raise TargetError(f"{target} gives its results in several forms ({kinds}): audit cannot stand in for it")
    return forms[0] if forms else {}


def too_strict(request: Request, watched: SuiteRun, right: SuiteRun) -> dict[str, str]:
    """The tests that fail with another right implementation, with what they say: they ask more than attention.

    Raises: TargetError, where nothing that calls the target is left.
    """
    if right.end.get("problem"):
        raise TargetError(str(right.end["problem"]))
    if right.hung or right.died:
        how = f"hangs in {right.hung}" if right.hung else right.died
        raise TargetError(f"with a right implementation in place of {request.target} the suite {how}")
    strict = {name: right.words.get(name, "") for name in right.bad}
    left = [name for name in watched.called_by if name not in strict]
    if not left:
        first = next(iter(strict))
        raise TargetError(
            f"every test that calls {request.target} fails with another right implementation in its place "
            f"({first}: {' '.join(strict[first].split())[:200]})"
        )
    if not right.calls.get("in place"):
        reasons = ", ".join(name for name in right.calls if name.startswith("passed on")) or "none was adapted"
        raise TargetError(f"no call of the suite can be given to another implementation ({reasons})")
    return strict


def about_calls(right: SuiteRun) -> list[str]:
    """The notes on calls that go to the user's own function whatever is in its place."""
    calls = right.calls
    reasons = {name.partition(": ")[2]: n for name, n in calls.items() if name.startswith("passed on: ")}
    if not reasons:
        return []
    words = ", ".join(f"{n} for {reason}" for reason, n in sorted(reasons.items(), key=lambda item: -item[1]))
    return [f"{sum(reasons.values())} of {calls['all']} calls of the suite go to the function itself: {words}"]


def summary(watched: SuiteRun, right: SuiteRun, seconds: float) -> dict[str, Any]:
    """The baseline in numbers."""
    return {
        "tests": len(watched.outcomes), "passed": len(watched.passes), "call_the_target": len(watched.called_by),
        "calls": watched.calls.get("all", 0), "in_place": right.calls.get("in place", 0), "seconds": round(seconds, 2),
    }  # fmt: skip
