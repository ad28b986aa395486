"""Tests for survivors: a test counts only where it passes on the user's own function and fails on the fault."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from attention_core.audit import survivors
from attention_core.audit.plan import Plan
from attention_core.audit.results import Fate
from attention_core.audit.suite import SuiteRun
from attention_core.audit.trial import Request, Trial

CAUGHT = {"one": ["one", "two"], "two": [], "": [], "plain": ["three"]}
"""What stands in the target's place -> whose tests fail then; the third test fails on the target itself."""


def run_suite(plan: Plan, tests: Sequence[str], *rest: Any, **limits: Any) -> SuiteRun:
    names = ["one", "two", "three"]
    wrong = CAUGHT["plain"] + ([] if plan.mode == "plain" else CAUGHT.get(plan.fault, []))
    outcomes = {
        f"{test}::test": "failed" if name in wrong else "passed" for name, test in zip(names, tests, strict=True)
    }
    return SuiteRun(outcomes, status=0)


def test_which_tests_catch_which_survivor() -> None:
    found = {name: Fate(name, "", "", status="survived", test="x") for name in ("one", "two", "three")}
    suites = SimpleNamespace(run=run_suite)
    trial = Trial(Request("m:f", ("tests",)), None, suites, Plan("m:f", "replace"), 1.0)  # type: ignore[arg-type]
    survivors.confirm(found, list(found), trial, (), lambda *_: None)
    assert {name: fate.confirmed for name, fate in found.items()} == {"one": True, "two": False, "three": False}
    assert found["one"].caught_by == ("one", "two") and found["three"].caught_by == ()
