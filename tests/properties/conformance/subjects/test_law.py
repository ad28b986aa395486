"""Roles of laws: what diagnoses judges few cases of a right function at quick, and all of a wrong one."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from attention_core.conformance import Implementation
from attention_core.conformance.contracts import find_contract
from attention_core.conformance.engine.session import Session, select_laws
from attention_core.conformance.engine.verify import verify_target
from attention_core.conformance.subjects.law import BESIDE_OTHERS, DIAGNOSE, LEAST_REFUTED, Law, detectors_first
from attention_core.faults.bases import reference

DATA = Path(__file__).resolve().parents[4] / "docs" / "data"
NOTE = "laws that only name the cause of a failure judged a quarter of their cases"
TARGETS = "experiments/quick_seconds/targets.py"


def table(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


BY_CHANCE = "fifth_sight_state.last_row_lost_by_a_race"
"""One call of fifty is wrong: the first law to meet one is whichever chance picks."""


def test_a_diagnosing_law_was_never_first_nor_alone() -> None:
    rows = [row for row in table("power_laws.csv") if row["contract"] == "attention"]
    uses = {row["law"]: (int(row["refutes"]), int(row["first"]), row["alone"]) for row in rows}
    assert {name: uses[name] for name in BESIDE_OTHERS} == {name: (n, 0, "") for name, n in BESIDE_OTHERS.items()}
    assert min(BESIDE_OTHERS.values()) >= LEAST_REFUTED
    faults = [row for row in table("power_faults.csv") if row["fault"] != BY_CHANCE]
    first = {row[column] for row in faults for column in ("first_at_quick", "first_at_standard")}
    assert "agrees_with_truth" in first and not first & BESIDE_OTHERS.keys()


@pytest.mark.parametrize("contract", ["attention", "attention-lse"])
def test_roles_stand_on_the_laws(contract: str) -> None:
    laws = find_contract(contract).laws
    named = {law.name for law in laws if law.role == DIAGNOSE}
    assert named == BESIDE_OTHERS.keys() & {law.name for law in laws} != set()
    assert not any(law.central for law in laws if law.role == DIAGNOSE)
    order = detectors_first(laws)
    assert sorted(order, key=laws.index) == list(laws)
    assert [law.role == DIAGNOSE for law in order] == sorted(law.role == DIAGNOSE for law in order)


def quick(function: object, **options: object) -> Session:
    return Session(Implementation(function, gradients=False, **options), effort="quick", shrink=False)


def half_of(laws: Sequence[Law]) -> list[Law]:
    """As many laws as one of two processes gets, those that diagnose among them."""
    diagnosing = [law for law in laws if law.role == DIAGNOSE]
    detecting = [law for law in laws if law.role != DIAGNOSE]
    return [*detecting[: len(laws) // 2 - len(diagnosing)], *diagnosing]


@pytest.mark.thorough
def test_a_right_function_meets_the_minimum_of_every_law_and_the_report_says_what_ran_less() -> None:
    with quick(reference.correct) as few, quick(reference.correct) as all_cases:
        results = {result.law: result for result in few.results(few.laws)}
        diagnosing = [law for law in few.laws if law.name in few.fewest]
        whole = {law.name: all_cases.run(law) for law in diagnosing}
        report = few.report([results[law.name] for law in few.laws])
    assert len(diagnosing) > 15
    assert report.verdict == "conforms" and any(NOTE in note for note in report.notes)
    assert all(results[law.name].minimum_met and results[law.name].cases for law in diagnosing)
    assert sum(results[name].cases for name in whole) < sum(result.cases for result in whole.values()) / 2
    assert [law for law in results if law not in {law.name for law in few.laws}] == []


def test_the_rest_of_the_cases_is_what_a_whole_run_judges() -> None:
    (law,) = select_laws(find_contract("attention").laws, ["coinciding_sizes_are_not_confused"])
    with quick(reference.correct) as first, quick(reference.correct) as other:
        some = first.run(law, fewest=True)
        assert 0 < some.cases < first.run(law).cases == other.run(law).cases


def test_what_is_refuted_is_diagnosed_with_all_cases() -> None:
    def larger(*args: Any, **kwargs: Any) -> Any:
        return 1.01 * reference.correct(*args, **kwargs)

    larger.__signature__ = signature(reference.correct)  # type: ignore[attr-defined]
    with quick(larger) as session:
        results = list(session.results(half_of(session.laws)))
        report = session.report(results, complete=False)
    assert report.verdict == "refuted" and not session.fewest
    assert not any(NOTE in note for note in report.notes)
    assert [result.law for result in results if result.status == "refuted" and result.law in BESIDE_OTHERS]


@pytest.mark.thorough
def test_only_a_diagnosing_law_refutes_and_the_others_judge_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    with quick(reference.correct) as session:
        laws = [law for law in session.laws if law.role == DIAGNOSE]
        wrong = laws[-1].name
        run = session.run

        def refute_last(law, effort="", *, lightly=False, fewest=False):  # type: ignore[no-untyped-def]
            result = run(law, effort, lightly=lightly, fewest=fewest)
            if law.name == wrong:
                session.refuted, result.status = 1, "refuted"
            return result

        monkeypatch.setattr(session, "run", refute_last)
        cases = {result.law: result.cases for result in session.results(half_of(session.laws))}
    with quick(reference.correct) as other:
        assert cases[laws[3].name] == other.run(laws[3]).cases
    assert session.fewest == []


def test_laws_that_are_asked_for_by_name_judge_all_their_cases() -> None:
    asked = ["doubled_keys_change_nothing", "coinciding_sizes_are_not_confused"]
    with quick(reference.correct) as session, quick(reference.correct) as other:
        found = list(session.results(select_laws(session.laws, asked)))
        assert [r.cases for r in found] == [other.run(law).cases for law in select_laws(other.laws, asked)]
        assert session.fewest == []


@pytest.mark.thorough
@pytest.mark.slow
def test_two_processes_say_the_same_of_what_ran_less() -> None:
    one = verify_target(f"{TARGETS}:plain", {"gradients": False}, effort="quick")
    two = verify_target(f"{TARGETS}:plain", {"gradients": False}, effort="quick", jobs=2)
    assert one.verdict == two.verdict == "conforms"
    assert [note for note in one.notes if NOTE in note] == [note for note in two.notes if NOTE in note] != []
