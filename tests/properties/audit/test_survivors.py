"""Tests for survivors: a test counts only where it passes on the user's own function and fails on the fault."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from attention_core.audit import survivors
from attention_core.audit.plan import Plan
from attention_core.audit.results import Fate
from attention_core.audit.suite import SuiteRun
from attention_core.audit.trial import Request, Trial
from attention_core.conformance.report.shards import Shard

CAUGHT = {"one": ["one", "two"], "two": [], "": [], "plain": ["three"]}
"""What stands in the target's place -> whose tests fail then; the third test fails on the target itself."""


def run_suite(plan: Plan, tests: Sequence[str], *rest: Any, **limits: Any) -> SuiteRun:
    names = [Path(test).read_text(encoding="utf-8") for test in tests]
    wrong = CAUGHT["plain"] + ([] if plan.mode == "plain" else CAUGHT.get(plan.fault, []))
    outcomes = {
        f"{test}::test": "failed" if name in wrong else "passed" for name, test in zip(names, tests, strict=True)
    }
    return SuiteRun(outcomes, status=0)


def test_which_tests_catch_which_survivor() -> None:
    found = {name: Fate(name, "", "", status="survived", test=name) for name in ("one", "two", "three")}
    suites = SimpleNamespace(run=run_suite)
    trial = Trial(Request("m:f", ("tests",)), None, suites, Plan("m:f", "replace"), 1.0)  # type: ignore[arg-type]
    survivors.confirm(found, list(found), trial, (), lambda *_: None)
    assert {name: fate.confirmed for name, fate in found.items()} == {"one": True, "two": False, "three": False}
    assert found["one"].caught_by == ("one", "two") and found["three"].caught_by == ()


def test_a_survivors_own_test_comes_before_those_that_leave_something_behind() -> None:
    found = {name: Fate(name, "", "", status="survived", test=name) for name in ("one", "two")}

    def run(plan: Plan, tests: Sequence[str], *rest: Any, **limits: Any) -> SuiteRun:
        """A fault that only the first call shows: the process stays as it left it."""
        outcomes = {f"{test}::test": "passed" for test in tests}
        if plan.mode != "plain":
            outcomes[f"{tests[0]}::test"] = "failed"
        return SuiteRun(outcomes, status=0)

    for shard in (None, Shard(1, 2)):
        request = Request("m:f", ("tests",), shard=shard)
        trial = Trial(request, None, SimpleNamespace(run=run), Plan("m:f", "replace"), 1.0)  # type: ignore[arg-type]
        survivors.confirm(found, list(found), trial, (), lambda *_: None)
        assert all(fate.confirmed for fate in found.values()), found


def test_a_case_that_is_not_confirmed_stays_where_there_is_no_other() -> None:
    def ask(what: str, plan: Plan, *, law: str, others: bool) -> dict[str, Any]:
        case = {"law": law, "case": "n=1", "message": "got 1", "snippet": "x = 1\n"}
        return {"case": None if others else case}

    passes = SimpleNamespace(
        run=lambda plan, tests, *_, **__: SuiteRun({f"{t}::test": "passed" for t in tests}, status=0)
    )
    judges = SimpleNamespace(ask=ask)
    trial = Trial(Request("m:f", ("tests",)), judges, passes, Plan("m:f", "replace"), 1.0)  # type: ignore[arg-type]
    fates = survivors.with_cases([Fate("one", "", "", status="survived", law="a_law")], trial, (), lambda *_: None)
    assert fates[0].case == "n=1" and "def test_a_law__one" in fates[0].test and not fates[0].confirmed


def test_where_no_case_shows_it_the_test_asks_the_law() -> None:
    tried: list[str] = []

    def run(plan: Plan, tests: Sequence[str], *_: Any, **__: Any) -> SuiteRun:
        tried.extend(Path(test).read_text(encoding="utf-8") for test in tests)
        outcome = "passed" if plan.mode == "plain" else "failed"
        return SuiteRun({f"{test}::test": outcome for test in tests}, status=0)

    judges = SimpleNamespace(ask=lambda *_, **__: {"case": None})
    plan = Plan("m:f", "replace", declared={"layout": "bnhd"})
    trial = Trial(Request("m:f", ("tests",)), judges, SimpleNamespace(run=run), plan, 1.0)  # type: ignore[arg-type]
    law = "dropout_heeds_every_option"
    (fate,) = survivors.with_cases([Fate("one", "", "", status="survived", law=law)], trial, (), lambda *_: None)
    assert fate.confirmed and fate.message == survivors.TOGETHER and fate.case == ""
    assert tried == [fate.test] * 2 and f'laws=["{law}"]' in fate.test and "layout='bnhd'" in fate.test
