"""How tests put a target of another contract to all of its laws, and run the snippets they print."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from judging import refuted, search_briefly

from attention_core.conformance import Implementation
from attention_core.conformance.engine.session import Session, select_laws
from attention_core.conformance.report.law_result import LawResult
from attention_core.conformance.search.search import Search, run_law
from attention_core.worker.target import load_target

TESTS = Path(__file__).resolve().parent


def refuting(target: Any, contract: str, effort: str = "quick", **record: Any) -> set[str]:
    """Names of the laws that refute a target; every other law must have held or have nothing to say."""
    with Session(Implementation(target, "under test", contract, **record), effort=effort) as session:
        bound = (session.contract, session.subject, effort)
        results = [run_law(law, *bound, shrink=0) for law in session.laws]  # whether, not where, is asked
    assert {r.status for r in results} <= {"held", "refuted", "refused", "not_applicable"}
    return {r.law for r in results if r.status == "refuted"}


def first_refuting(target: Any, contract: str, effort: str = "quick", **record: Any) -> str:
    """Name of the first law that refutes a target, "" if none does; the laws behind it are not run."""
    with Session(Implementation(target, "under test", contract, **record), effort=effort) as session:
        for law in session.laws:
            status = run_law(law, session.contract, session.subject, effort, shrink=0).status
            assert status in {"held", "refuted", "refused", "not_applicable"}, f"{law.name}: {status}"
            if status == "refuted":
                return law.name
    return ""


def conforming(
    target: Any, contract: str, effort: str = "quick", seed: int = 0, *, compared: bool = True, **record: Any
) -> dict[str, LawResult]:
    """The results of a correct target by law; raises unless it conforms but for parameters that no law tests.

    Laws judge the fewest cases that a verdict needs, with `--thorough` all. With `compared` False it may also be one
    that no law can compare with a truth.
    """
    with Session(Implementation(target, "under test", contract, **record), effort=effort, seed=seed) as session:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Search, "to", search_briefly)
            results = [session.run(law) for law in session.laws]
        report = session.report(results)
    report.untested = []  # test_untested is about these
    if not compared:
        assert report.problem.startswith("no output was compared with a truth"), report.problem
        report.problem = ""
    wrong = [f"{r.law}: {r.status}: {r.message}" for r in results if r.status not in ("held", "not_applicable")]
    assert report.verdict == "conforms", "; ".join(wrong) or report.problem
    return {r.law: r for r in results}


Test = Callable[..., None]


def named_faults(laws: Iterable[Any], faults: Iterable[Any]) -> tuple[str, ...]:
    """Names of those of some faults that a law names: the test of the laws refutes them, each by its own law."""
    return tuple(sorted({law.fault for law in laws} & {fault.__name__ for fault in faults}))


def power_tests(
    laws: Any, faults: Any, right: Mapping[str, tuple[Any, Mapping[str, Any]]], seen_by: Mapping[str, str],
    **record: Any,
) -> tuple[Test, Test, Test]:  # fmt: skip
    """Tests of a contract's power and of its false alarms, to be named in a module of tests.

    Every law refutes the fault it names; every fault is refuted; every right function conforms, with ten seeds.

    Args:
        laws: the module of the laws. faults: that of the faults, whose `DECLARED` has parameters of some, if any.
        right: right functions and what they declare. seen_by: faults that no law but these is sure to see; the others
            are refuted by the comparison with the truth, which is the first law.
        record: what every fault declares.
    """
    declared: Mapping[str, Any] = getattr(faults, "DECLARED", {})

    def judge(law: str, name: str) -> None:
        given = {**record, "parameters": declared.get(name, {})}
        refuted(law, getattr(faults, name)(), "quick", contract=laws.CONTRACT, **given)

    @pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.name)
    def test_every_law_refutes_the_fault_it_names(law: Any) -> None:
        judge(law.name, law.fault)

    @pytest.mark.thorough(table=True, leave_out=named_faults(laws.LAWS, faults.FAULTY))
    @pytest.mark.parametrize("fault", faults.FAULTY)
    def test_every_fault_is_refuted(fault: Callable[..., Any]) -> None:
        name = fault.__name__
        if name in seen_by:
            judge(seen_by[name], name)
        else:
            given = {**record, "parameters": declared.get(name, {})}
            assert first_refuting(fault(), laws.CONTRACT, **given) == laws.LAWS[0].name

    @pytest.mark.thorough(table=True, keep=("*-0",))
    @pytest.mark.parametrize("seed", range(10))
    @pytest.mark.parametrize("name", right)
    def test_right_functions_conform(name: str, seed: int) -> None:
        target, own = right[name]
        conforming(target, laws.CONTRACT, "quick", seed, **own)

    return test_every_law_refutes_the_fault_it_names, test_every_fault_is_refuted, test_right_functions_conform


def counterexample(law: str, origin: str, contract: str, **record: Any) -> str:
    """The snippet of one law on a faulty target, with the target's name in it as `attention-core verify` prints it."""
    with Session(Implementation(load_target(origin), origin, contract, **record), effort="standard") as session:
        session.subject.origin = origin
        (chosen,) = select_laws(session.laws, [law])
        result = session.run(chosen)
    assert result.counterexample is not None, f"{law}: {result.status} {result.message}"
    return result.counterexample.snippet


ALL_IN_TURN = """
import json, sys, traceback
for name, program in json.load(sys.stdin).items():
    told = ""
    try:
        exec(compile(program, name, "exec"), {"__name__": name})
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
    print(json.dumps([name, told]))
"""


def outcomes(programs: dict[str, str]) -> dict[str, str]:
    """What each program raised ("" for nothing), all in one fresh process, each in a namespace of its own."""
    quiet = {name: f"print = lambda *_: None\n{program}" for name, program in programs.items()}
    done = subprocess.run(
        [sys.executable, "-c", ALL_IN_TURN], cwd=TESTS, input=json.dumps(quiet), capture_output=True, text=True,
        timeout=120, env=os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}, check=True,
    )  # fmt: skip
    return dict(json.loads(line) for line in done.stdout.splitlines())
