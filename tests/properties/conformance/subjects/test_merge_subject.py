"""How functions that merge are called: by their number of parameters, by what is declared, by a library's names."""

from __future__ import annotations

import inspect
import math
import re
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


def half(out_a: Any, lse_a: Any, out_b: Any) -> Any: ...
def first(out_a: Any, lse_a: Any) -> Any: ...
def numbered(o1: Any, lse1: Any) -> Any: ...
def whole(outs: Any, lses: Any) -> Any: ...
def more(out_a: Any, lse_a: Any, out_b: Any, lse_b: Any, weights: Any) -> Any: ...
def by_name(out_a: Any, lse_a: Any, *, out_b: Any, lse_b: Any) -> Any: ...
def named(out_a: Any, lse_a: Any, out_b: Any, lse_b: Any, *, base: Any) -> Any: ...


@pytest.mark.parametrize(
    ("target", "parameters", "words"),
    [
        (
            half,
            {},
            "half takes out_a, lse_a, out_b, which is not all that a merge is given: merging takes two parts, f",
        ),
        (half, {"form": "pair"}, "half takes out_a, lse_a, out_b, which is not all"),
        (first, {}, "first takes out_a, lse_a, which is not all that a merge is given"),
        (numbered, {}, "numbered takes o1, lse1, which is not all that a merge is given"),
        (whole, {"form": "pair"}, "whole takes outs, lses, which is not all"),
        (by_name, {}, "by_name takes out_a, lse_a, which is not all"),
        (more, {}, "what more is given for weights is not known: give --arg weights=VALUE"),
        (named, {}, "what named is given for base is not known: give --arg base=VALUE"),
    ],
)
def test_a_merge_that_lacks_parts_is_not_judged(target: Any, parameters: dict[str, Any], words: str) -> None:
    """Half of the parts was taken for stacked ones: a function of three parameters was refuted by its shapes."""
    record = Implementation(target, target.__name__, contract="merge", parameters=parameters)
    with pytest.raises(TargetError, match=re.escape(words)), Session(record):
        pass


def test_parts_that_are_declared_or_fixed_are_judged() -> None:
    for record in (
        Implementation(whole, contract="merge"), Implementation(first, contract="merge", parameters={"form": "stacked"}),
        Implementation(more, contract="merge", arguments={"weights": 1}),
    ):  # fmt: skip
        with Session(record) as session:
            assert session.subject.call_form.kind == ("pair" if record.function is more else "stacked")


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
