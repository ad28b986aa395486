"""The findings of a first look: options, the command, JSON, and how a session acts on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from attention_core.conformance import Implementation
from attention_core.conformance.contracts import find_contract
from attention_core.conformance.engine.second_judgement import judge_under_conventions
from attention_core.conformance.engine.session import Session
from attention_core.conformance.first_look import FirstLook
from attention_core.conformance.first_look.findings import command, option_text
from attention_core.conformance.report.law_result import NOT_RUN
from attention_core.conformance.report.results import Report
from attention_core.conformance.subjects.law import Law
from attention_core.faults.bases.reference import correct

pytestmark = pytest.mark.usefixtures("fewest_cases")


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
    assert command("m.py:f", record.as_dict()) == "attention-core verify m.py:f --dead-rows nan --array numpy"


def with_look(found: FirstLook, function: Any) -> Session:
    session = Session(Implementation(function, name="f", dtypes=("float32",)), effort="quick", looks=False)
    session._first_look = found
    return session


def in_other_order(query: Any, key: Any, value: Any) -> Any:
    return correct(*(x.transpose(-3, -2) for x in (query, key, value))).transpose(-3, -2)


@pytest.mark.usefixtures("unshrunk")
def test_conventions_that_explain_a_refutation_are_judged_in_the_same_run() -> None:
    look = FirstLook(("takes query, key, value (B, n, H, d)",), {"layout": "bnhd"}, agrees=True)
    with with_look(look, in_other_order) as session:
        results = list(session.results(session.laws))
        report = session.report(results)
        judge_under_conventions(session, report, [law.name for law in session.laws], complete=True)
    assert [r.law for r in report.with_status("refuted")] == ["agrees_with_truth"]
    assert sum(r.message.startswith(NOT_RUN) for r in results) > 30
    assert report.under_found is not None and report.under_found.verdict == "conforms"
    assert report.advice[0] == "refuted as layout=bhnd; consistent with --layout bnhd"
    assert report.to_dict()["first_look"]["options"] == "--layout bnhd"


def test_conventions_that_explain_nothing_change_nothing() -> None:
    look = FirstLook(("takes query, key, value",), {}, agrees=True)
    with with_look(look, correct) as session:
        report = session.report(list(session.results(session.laws[:3])), complete=False)
        judge_under_conventions(session, report, [law.name for law in session.laws[:3]], complete=False)
    assert report.under_found is None and report.passed


def test_reports_without_a_first_look_say_so() -> None:
    assert Report("f").to_dict()["first_look"] is None
    assert find_contract("heads").look is None


def writing_into_float64(query: Any, key: Any, value: Any) -> Any:
    """NumPy code that copies its query unless it is float64 already."""
    q = query.astype(np.float64, copy=False)
    q *= query.shape[-1] ** -0.5
    s = q @ np.swapaxes(key.astype(np.float64), -1, -2)
    s = np.exp(s - s.max(-1, keepdims=True))
    return (s / s.sum(-1, keepdims=True) @ value).astype(query.dtype)


def test_a_dtype_whose_inputs_are_written_into_is_not_left_out() -> None:
    """It is taken, and its fault is for the laws."""
    with Session(Implementation(writing_into_float64, "f", array="numpy"), effort="quick") as session:
        assert session.first_look is not None and session.first_look.agrees
        assert "dtypes" not in session.first_look.found
        assert session.run(law_named(session, "inputs_stay_as_they_were")).status == "refuted"


def running_softmax(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """One tile after the other; without any key its sum is 0."""
    s = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
    top = torch.full((*s.shape[:-1], 1), float("-inf"), dtype=s.dtype)
    top = torch.maximum(top, s.amax(-1, keepdim=True)) if s.shape[-1] else top
    p = torch.exp(s - top)
    return (p @ value) / p.sum(-1, keepdim=True)


def test_what_a_function_without_masks_gives_without_any_key_is_found() -> None:
    with Session(Implementation(running_softmax, "f"), effort="quick") as session:
        assert session.first_look is not None and dict(session.first_look.found) == {"dead_rows": "nan"}


def law_named(session: Session, name: str) -> Law:
    """One law of a session."""
    return next(law for law in session.laws if law.name == name)
