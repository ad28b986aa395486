"""How functions that merge are called: by their number of parameters, by what is declared, by a library's names."""

from __future__ import annotations

import inspect
import math
from typing import Any

import pytest

from attention_core.conformance.contracts import built_in
from attention_core.conformance.engine.session import Session
from attention_core.conformance.subjects.merge_subject import MergeForm, form_of
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.declaration.implementation import Implementation, TargetError
from attention_core.faults import merge as faults


def form(target: Any, **record: Any) -> MergeForm:
    names = list(inspect.signature(target).parameters)
    return form_of(names, Implementation(target, contract="merge", **record))


@pytest.mark.parametrize(
    ("target", "record", "expected"),
    [
        (lambda a, b, c, d: a, {}, MergeForm("pair")),
        (lambda outs, lses: outs, {}, MergeForm("stacked", "pbhnd", "pbhn")),
        (lambda *given: given, {}, MergeForm("pair")),
        (lambda a, b, c, d: a, {"layout": "bnhd", "parameters": {"base": 2}}, MergeForm("pair", "bnhd", "bhn", 2.0)),
        (lambda a, b, c, d: a, {"parameters": {"form": "in_place"}}, MergeForm("in_place")),
        (faults.merge_state, {}, MergeForm("pair", "nhd", "nh", 2.0)),
        (faults.merge_state_in_place, {}, MergeForm("in_place", "nhd", "nh", 2.0)),
        (faults.merge_attn_states, {}, MergeForm("into", "nhd", "hn")),
        (lambda v_a, s_a, v_b, s_b, v_merged=None, s_merged=None: v_a, {}, MergeForm("pair", "nhd", "nh", math.e)),
        (lambda v, s: v, {}, MergeForm("stacked", "nphd", "nph", 2.0)),
        (lambda v, s: v, {"parameters": {"form": "stacked"}}, MergeForm("stacked", "pbhnd", "pbhn")),
    ],
)
def test_the_form_of_a_target(target: Any, record: dict[str, Any], expected: MergeForm) -> None:
    assert form(target, **record) == expected


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"parameters": {"base": 0.5}}, "--parameter base=0.5: the base of a log-sum-exp is above 1"),
        (
            {"dead_rows": "uniform"},
            "dead_rows=uniform says nothing of parts without keys: declare zeros, nan or unspec",
        ),
    ],
)
def test_what_means_nothing_is_refused(record: dict[str, Any], words: str) -> None:
    with pytest.raises(TargetError, match=words), Session(Implementation(faults.correct, contract="merge", **record)):
        pass


def test_parts_are_what_a_target_can_read() -> None:
    """Outputs in the case's dtype, log-sum-exps in float32 and the target's base; two parts for a pair."""
    with Session(Implementation(faults.merge_state, contract="merge")) as session:
        subject: Any = session.subject
        case = subject.adapt_case(ParameterCase({"parts": 5, "B": 3, "H": 2, "n": 4, "d": 3}, dtype="bfloat16"))
        assert (case["parts"], case["B"]) == (2, 1)
        parts = subject.parts(case)
        request = subject.request_of(case, parts)
    assert [a.dtype for a in request.args] == ["bfloat16", "float32"] * 2
    assert [a.shape for a in request.args] == [(4, 2, 3), (4, 2)] * 2
    assert request.args[1].base[0] == pytest.approx(parts.lses[0, 0, 0, 0] / math.log(2), abs=0)


def test_the_contract_is_there() -> None:
    assert built_in()["merge"].laws[0].central
