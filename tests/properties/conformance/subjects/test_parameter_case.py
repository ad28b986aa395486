"""Cases of sizes and options, and the subject that calls targets with them.

attention_core.conformance.subjects.parameter_case: cases shrink within their relations, arrays are exact, evidence is whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from attention_core.conformance import Implementation
from attention_core.conformance.budgets.budget import round_to
from attention_core.conformance.engine.session import Session
from attention_core.conformance.subjects.evidence import Evidence, Refused, Shown, Violation
from attention_core.conformance.subjects.parameter_case import (
    ParameterCase,
    ParameterSubject,
    Sizes,
    after,
    draw_parameters,
    require_same_later,
    restrict_parameters,
)
from attention_core.declaration.implementation import DTYPES, TargetError

RELATED = Sizes(
    {"n_q": (1, 9), "n_kv": (2, 20)}, {"word": ("a", "b")},
    adjust=lambda sizes, rng: dict(zip(sizes, sorted(sizes.values()), strict=True)),
    related=lambda sizes: sizes["n_q"] <= sizes["n_kv"],
)  # fmt: skip


def subject_of(function: Callable[..., Any], **record: Any) -> ParameterSubject:
    session = Session(Implementation(function, "under test", "bias", **record))
    assert isinstance(session.subject, ParameterSubject)
    return session.subject


def double(x: Tensor, positions: Tensor) -> Tensor:
    return x * 2


@given(st.integers(1, 9), st.integers(2, 20), st.integers(0, 2**31), st.integers(0, 2), st.sampled_from(DTYPES))
def test_cases_come_back_from_json(n_q: int, n_kv: int, seed: int, plain: int, dtype: str) -> None:
    case = ParameterCase({"n_q": n_q, "n_kv": n_kv}, {"n_q": 1}, {"word": "a"}, dtype, seed, plain)
    again = ParameterCase.from_json(case.to_json())
    assert again.to_json() == case.to_json()
    assert np.array_equal(again.values("x", 2, 3), case.values("x", 2, 3))


@given(st.integers(0, 2**31), st.integers(0, 2), st.sampled_from(DTYPES))
def test_drawn_numbers_are_exact_in_their_dtype(seed: int, plain: int, dtype: str) -> None:
    x = ParameterCase({}, dtype=dtype, seed=seed, plain=plain).values("x", 3, 5)
    assert x.shape == (3, 5) and np.array_equal(round_to(x, dtype), x)
    if plain:
        assert np.array_equal(np.rint(x), x) and (plain == 1 or set(x.flat) <= {0.0, 1.0})


def test_purposes_draw_different_numbers_and_seeds_the_same() -> None:
    case = ParameterCase({}, seed=3)
    assert not np.array_equal(case.values("q", 8), case.values("k", 8))
    assert np.array_equal(case.values("q", 8), ParameterCase({}, seed=3).values("q", 8))


@given(st.integers(1, 9), st.integers(2, 20))
def test_reductions_are_smaller_and_stay_above_the_minimum(n_q: int, n_kv: int) -> None:
    case = ParameterCase({"n_q": n_q, "n_kv": n_kv}, {"n_q": 1, "n_kv": 2})
    reduced = [*case.smaller(), *case.plainer()]
    for smaller in reduced:
        assert smaller["n_q"] >= 1 and smaller["n_kv"] >= 2
        weight = (smaller["n_q"] + smaller["n_kv"], -smaller.plain)
        assert weight < (n_q + n_kv, 0)
    # four draws of each: what one draw hides, another may show
    assert [r.plain for r in reduced if r.sizes == case.sizes] == [2] * 4 + [1] * 4
    assert [r.seed for r in reduced if r.plain == 2] == [case.seed, 0, 1, 2]


def test_changes_by_name() -> None:
    case = ParameterCase({"n": 3}, options={"word": "a"})
    assert case.with_(n=5)["n"] == 5 and case.with_(seed=4).seed == 4
    assert case.describe() == "float32 n=3 word=a"


def test_cases_are_drawn_within_their_relation() -> None:
    subject, rng = subject_of(double, dtypes=("float32", "bfloat16")), np.random.default_rng(0)
    cases = [draw_parameters(subject, RELATED, rng) for _ in range(200)]
    assert all(c is not None and RELATED.contains(c) for c in cases)
    drawn = [c for c in cases if c is not None]
    assert {c.dtype for c in drawn} == {"float32", "bfloat16"} and {c.options["word"] for c in drawn} == {"a", "b"}
    assert {c["n_q"] for c in drawn} >= set(range(1, 7)) and max(c["n_kv"] for c in drawn) > 15
    assert not RELATED.contains(ParameterCase({"n_q": 5, "n_kv": 4}))


def test_no_case_where_no_dtype_is_declared() -> None:
    subject = subject_of(double, dtypes=("bfloat16",))
    only = Sizes({"n": (1, 2)}, dtypes=("float32",))
    law = next(iter(Session(Implementation(double, "b", "bias")).laws))
    assert draw_parameters(subject, only, np.random.default_rng(0)) is None
    assert restrict_parameters(subject, type(law)(law.check, "x", space=only)) is None
    assert restrict_parameters(subject, law) is law.space


def test_calls_carry_dtypes_and_declared_arguments() -> None:
    def seen(x: Tensor, n: int, flags: Tensor, ids: Tensor, *, twice: bool) -> Tensor:
        assert (x.dtype, flags.dtype, ids.dtype, n, twice) == (torch.bfloat16, torch.bool, torch.int64, 4, True)
        return x

    subject = subject_of(seen, arguments={"twice": True})
    got = subject.call(np.ones((2, 3)), 4, np.array([True]), np.array([1]), dtype="bfloat16", shape=(2, 3))
    assert got.values.dtype == np.float64 and got.extra["dtype"] == "bfloat16" and subject.calls == 1
    assert subject.find_name("number", "n") == "n" and subject.find_name("nothing") is None


def test_wrong_shapes_are_violations() -> None:
    with pytest.raises(Violation, match=r"got shape \(2,\), but should be \(3,\)") as caught:
        subject_of(double).call(np.ones(2), np.zeros(2), shape=(3,))
    assert caught.value.evidence.kind == "shape"


def test_changed_arguments_are_called_by_their_names() -> None:
    def moves(x: Tensor, positions: Tensor) -> Tensor:
        positions += 1
        return x

    with pytest.raises(Violation, match="the call changed its argument positions"):
        subject_of(moves).call(np.ones(2), np.zeros(2))


def test_refusals_pass_through_and_crashes_do_not() -> None:
    def declines(x: Tensor) -> Tensor:
        raise ValueError("too small")

    def breaks(x: Tensor) -> Tensor:
        raise KeyError("table")

    with pytest.raises(Refused, match="ValueError: too small"):
        subject_of(declines).call(np.ones(2))
    with pytest.raises(Violation, match="a valid call raised KeyError"):
        subject_of(breaks).call(np.ones(2))


def test_what_is_not_callable_is_told() -> None:
    with pytest.raises(TargetError, match="under test is not callable"):
        subject_of((1, 2))  # type: ignore[arg-type]


def test_earlier_calls_come_along() -> None:
    subject = subject_of(double)
    first, second = (subject.call(np.full(2, x), np.zeros(2)) for x in (1.0, 2.0))
    with pytest.raises(Violation) as caught, after([first]):
        raise Violation("wrong", Evidence((Shown(second.request),)))
    assert caught.value.evidence.before == (Shown(first.request),)
    with pytest.raises(Violation, match="twice: got 4 at") as pair:
        require_same_later(second, first, [second], 0.0, "twice")
    evidence = pair.value.evidence
    assert (evidence.kind, evidence.calls) == ("pair", (Shown(second.request, index=(0,)),))
    assert [s.request for s in evidence.before] == [first.request, second.request]
    assert evidence.before[0].index == (0,) and not evidence.before[1].index
