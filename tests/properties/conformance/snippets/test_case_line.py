"""The line `smallest case` tells the sizes of the call that failed, or nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attention_core.conformance import Implementation
from attention_core.conformance.cases.case import Case
from attention_core.conformance.report.law_result import Counterexample, LawResult
from attention_core.conformance.report.render_html import to_html
from attention_core.conformance.report.results import Report
from attention_core.conformance.snippets.case_line import calls_its_case, case_line
from attention_core.conformance.subjects.binding import bind
from attention_core.conformance.subjects.evidence import Evidence, Shown
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.worker.exchange import Request, array
from attention_core.conformance.worker.executor import Executor


def attention(query: Any, key: Any, value: Any, mask: Any = None, causal: bool = False, dropout: float = 0.0) -> Any:
    return query


def subject(**fields: Any) -> Any:
    implementation = Implementation(attention, name="f", **fields)
    binding = bind(implementation, Executor(attention).describe())
    return SimpleNamespace(implementation=implementation, binding=binding)


def filled(batch: int, heads: int, n_q: int, n_kv: int, d: int, **fields: Any) -> Case:
    query, key = np.ones((batch, heads, n_q, d)), np.ones((batch, heads, n_kv, d))
    return Case("float32", query, key, key, **fields)


ONE = filled(1, 1, 1, 1, 1, label="one_hot")


@pytest.mark.parametrize("layout", ["bhnd", "bnhd"])
def test_the_sizes_are_those_of_the_call_that_failed(layout: str) -> None:
    under = subject(layout=layout)
    case = filled(5, 4, 3, 7, 2, mask=np.ones((3, 7), bool), is_causal=True)
    request = under.binding.request(case, dropout=0.5)
    told = case_line(under, ONE, Evidence((Shown(request),)))
    assert told == "float32 B=5 H=4 n_q=3 n_kv=7 d=2 bool mask (3, 7) causal dropout=0.5"
    own = Evidence((Shown(under.binding.request(ONE)),))
    assert case_line(under, ONE, own) == ONE.describe() == "float32 B=1 H=1 n_q=1 n_kv=1 d=1 one_hot"
    assert case_line(under, ONE, Evidence(())) == ONE.describe()


@pytest.mark.parametrize("layout", ["bhnd", "bnhd"])
def test_whether_the_call_is_that_of_its_case(layout: str) -> None:
    under = subject(layout=layout)
    mask = np.array([[True, False]])
    case = filled(1, 2, 1, 2, 2, mask=mask, views={"query": "transposed"})
    others = [case.with_(mask=~mask), case.with_(mask=None), case.with_(key=2 * case.key), case.with_(is_causal=True)]
    calls = [under.binding.request(one) for one in (case, case.with_(views={}), *others)]
    assert [calls_its_case(under, case, Evidence((Shown(call),))) for call in calls] == [True, True, *[False] * 4]
    assert not calls_its_case(under, case, Evidence(()))
    assert not calls_its_case(under, ParameterCase({"n": 1}), Evidence((Shown(calls[0]),)))


def test_positions_that_begin_elsewhere_leave_the_line_out() -> None:
    case = ParameterCase({"n": 1, "start": 0})
    for start, told in ((0, case.describe()), (21296, "")):
        positions = array(np.array([start]), "int64")
        request = Request((array(np.ones((1, 1, 1, 2)), "float32"), positions))
        assert case_line(subject(), case, Evidence((Shown(request),))) == told


def test_no_line_is_shown_where_there_is_none() -> None:
    found = [Counterexample("agrees_with_truth", "m", case, {}, "s", shrunk=True) for case in ("", "n=1")]
    pages = [to_html([Report("f", laws=[LawResult("agrees_with_truth", "refuted", 1, 0.0, c)])]) for c in found]
    assert ["smallest case" in page for page in pages] == [False, True]
