"""The findings of a first look: options, the command, JSON, and how a session acts on them."""

from __future__ import annotations

from typing import Any

import pytest
from mutants.reference import correct

from attention_core.conformance import Implementation
from attention_core.conformance.contracts import contract_named
from attention_core.conformance.first_look import FirstLook
from attention_core.conformance.first_look.findings import command, option_text
from attention_core.conformance.first_look.second_judgement import judge_under_found
from attention_core.conformance.report import NOT_RUN, Report
from attention_core.conformance.session import Session


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("layout", "bnhd", "--layout bnhd"),
        ("gradients", False, "--no-gradients"),
        ("deterministic", True, "--deterministic"),
        ("dtypes", ("float32", "float64"), "--dtype float32,float64"),
        ("arguments", {"a": 1, "b": "x y"}, "--arg a=1 --arg 'b=x y'"),
    ],
)
def test_a_field_as_an_option(name: str, value: Any, text: str) -> None:
    assert option_text(name, value) == text


def test_the_command_declares_what_is_not_the_default() -> None:
    record = Implementation(None, name="m.py:f", array="numpy", dead_rows="nan", sizes=None)
    assert command("m.py:f", record.declared()) == "attention-core verify m.py:f --dead-rows nan --array numpy"


def with_look(found: FirstLook, function: Any) -> Session:
    session = Session(Implementation(function, name="f", dtypes=("float32",)), effort="quick", looks=False)
    session._first_look = found
    return session


def in_other_order(query: Any, key: Any, value: Any) -> Any:
    return correct(*(x.transpose(-3, -2) for x in (query, key, value))).transpose(-3, -2)


def test_conventions_that_explain_a_refutation_are_judged_in_the_same_run() -> None:
    look = FirstLook(("takes query, key, value (B, n, H, d)",), {"layout": "bnhd"}, agrees=True)
    with with_look(look, in_other_order) as session:
        results = list(session.results(session.laws))
        report = session.report(results)
        judge_under_found(session, report, [law.name for law in session.laws], complete=True)
    assert [r.law for r in report.with_status("refuted")] == ["agrees_with_truth"]
    assert sum(r.message.startswith(NOT_RUN) for r in results) > 30
    assert report.under_found is not None and report.under_found.verdict == "conforms"
    assert report.advice[0] == "refuted as layout=bhnd; consistent with --layout bnhd"
    assert report.to_dict()["first_look"]["options"] == "--layout bnhd"


def test_conventions_that_explain_nothing_change_nothing() -> None:
    look = FirstLook(("takes query, key, value",), {}, agrees=True)
    with with_look(look, correct) as session:
        report = session.report(list(session.results(session.laws[:3])), complete=False)
        judge_under_found(session, report, [law.name for law in session.laws[:3]], complete=False)
    assert report.under_found is None and report.passed


def test_reports_without_a_first_look_say_so() -> None:
    assert Report("f").to_dict()["first_look"] is None
    assert contract_named("heads").look is None
