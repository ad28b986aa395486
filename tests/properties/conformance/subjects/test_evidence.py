"""Evidence: excess, require_close, require_same, require_finite.

The comparisons that judge: a table of every kind of number on either side, and of every bound.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_core.conformance.subjects.evidence import (
    Evidence,
    Result,
    Shown,
    Violation,
    excess,
    require_close,
    require_finite,
    require_same,
    round_up,
)
from attention_core.conformance.worker.exchange import Request

INF, NAN = math.inf, math.nan
REQUEST = Request()

# got, want, bound, |got - want| / bound
TABLE = [
    (1.0, 1.0, 0.5, 0.0),
    (1.25, 1.0, 0.5, 0.5),
    (0.75, 1.0, 0.5, 0.5),
    (1.5, 1.0, 0.5, 1.0),
    (2.0, 1.0, 0.5, 2.0),
    (-1.0, 1.0, 0.5, 4.0),
    (1.0, 1.0, 0.0, 0.0),
    (0.0, -0.0, 0.0, 0.0),
    (1.0, 2.0, 0.0, INF),
    (5e-324, 0.0, 0.0, INF),
    (5e-324, 0.0, 5e-324, 1.0),
    (NAN, 1.0, 0.5, INF),
    (1.0, NAN, 0.5, INF),
    (NAN, NAN, 0.5, 0.0),
    (NAN, NAN, 0.0, 0.0),
    (NAN, 1.0, INF, INF),
    (NAN, INF, INF, INF),
    (INF, INF, 0.5, 0.0),
    (-INF, -INF, 0.0, 0.0),
    (INF, -INF, 0.5, INF),
    (INF, -INF, INF, INF),
    (INF, 1.0, 0.5, INF),
    (INF, 1.0, INF, INF),
    (1.0, INF, 0.5, INF),
    (1.0, INF, INF, INF),
    (1.0, 2.0, INF, 0.0),
    (1e308, -1e308, INF, 0.0),
    (1e308, -1e308, 1.0, INF),
    (1.0, 1.0, NAN, 0.0),
    (1.0, 2.0, NAN, INF),
    (1.0, 2.0, -1.0, INF),
]  # fmt: skip


@pytest.mark.parametrize(("got", "want", "bound", "expected"), TABLE)
def test_excess(got: float, want: float, bound: float, expected: float) -> None:
    found = excess(*(np.array([x]) for x in (got, want, bound)))
    assert found.tolist() == [expected]


@given(st.floats(), st.floats(), st.floats())
def test_only_what_is_within_its_bound_is_accepted(got: float, want: float, bound: float) -> None:
    accepted = excess(*(np.array([x]) for x in (got, want, bound)))[0] <= 1
    same = got == want or (got != got and want != want)
    finite = math.isfinite(got) and math.isfinite(want)
    assert accepted == (same or (finite and (abs(got - want) <= bound or bound == INF)))


def result(values: Any, **changes: Any) -> Result:
    return Result(np.array(values, dtype=float), REQUEST, **changes)


def test_the_worst_element_is_shown() -> None:
    got, want = result([[1.0, 2.0, 3.0], [4.0, 5.5, 6.0]]), np.array([[1.0, 2.0, 3.25], [4.0, 5.0, 6.0]])
    with pytest.raises(Violation) as caught:
        require_close(got, want, 0.125, "out")
    assert caught.value.message == "out: got 5.5 at [1, 1], but should be 5 (allowed error 0.125)"
    evidence = caught.value.evidence
    assert (evidence.got, evidence.want, evidence.bound, evidence.kind) == (5.5, 5.0, 0.125, "value")
    assert evidence.calls == (Shown(REQUEST, "out", (1, 1)),)


def test_numbers_that_look_alike_are_told_in_full() -> None:
    got = Result(np.array([0.1]), Request())
    with pytest.raises(
        Violation, match=re.escape("got 0.1 at [0], but should be 0.10000000000000002 (allowed error 0)")
    ):
        require_close(got, np.array([np.nextafter(0.1, 1)]), 0.0, "out")


def test_a_nan_is_worse_than_any_number() -> None:
    with pytest.raises(Violation, match=r"got nan at \[1\]"):
        require_close(result([9.0, NAN]), np.zeros(2), 1.0, "out")


def test_the_bound_itself_passes_and_the_next_number_does_not() -> None:
    assert require_close(result([1.5]), np.array([1.0]), 0.5, "out") == 1.0
    with pytest.raises(Violation, match=r"got 1\.5"):
        require_close(result([math.nextafter(1.5, 2)]), np.array([1.0]), 0.5, "out")


def test_the_ratio_of_what_passes_is_returned() -> None:
    assert require_close(result([1.0, 2.0]), np.array([1.25, 2.0]), np.array([0.5, 0.5]), "out") == 0.5
    assert require_close(result(np.zeros((0, 3))), np.zeros((0, 3)), 0.0, "out") == 0.0


def test_bounds_and_truths_broadcast() -> None:
    assert require_close(result(np.ones((2, 3))), np.ones(3), np.array([[0.0], [1.0]]), "out") == 0.0
    with pytest.raises(Violation, match=r"\[0, 2\]"):
        require_close(result(np.ones((2, 3))), np.array([1.0, 1.0, 2.0]), np.array([[0.5], [1.0]]), "out")


def test_only_the_chosen_elements_are_judged() -> None:
    where = np.array([True, False])
    assert require_close(result([1.0, NAN]), np.ones(2), 0.0, "out", where=where) == 0.0
    with pytest.raises(Violation, match=r"\[1\]"):
        require_close(result([1.0, NAN]), np.ones(2), 0.0, "out", where=~where)


def test_two_calls_are_shown_as_a_pair() -> None:
    one, two = result([1.0, 2.0]), Result(np.array([1.0, 3.0]), Request(seed=1), "out1")
    with pytest.raises(Violation, match="twice: got 2") as caught:
        require_same(one, two, 0.5, "twice")
    evidence = caught.value.evidence
    assert evidence.kind == "pair"
    assert evidence.calls == (Shown(REQUEST, "out", (1,)), Shown(Request(seed=1), "out1", (1,)))
    assert require_same(one, result([1.0, 2.5]), 0.5, "twice") == 1.0


def test_finiteness() -> None:
    require_finite(result([1.0, -1e308, 0.0]), "out")
    require_finite(result([1.0, NAN]), "out", where=np.array([True, False]))
    for bad in (NAN, INF, -INF):
        with pytest.raises(Violation, match=r"out: got -?(nan|inf) at \[1\], but should be finite") as caught:
            require_finite(result([1.0, bad]), "out")
        assert caught.value.evidence.kind == "nonfinite"


def test_indices_are_shown_in_the_targets_own_axis_order() -> None:
    def turn(index: tuple[int, ...]) -> tuple[int, ...]:
        return (index[1], index[0], *index[2:])

    moved = result(np.zeros((2, 3, 5)), place=turn, back=turn)
    assert moved.show((1, 2, 4)).index == (2, 1, 4)
    assert moved.canonical((2, 1, 4)) == (1, 2, 4)
    by_head = result(np.zeros((2, 3, 5)), heads=(2, 0, 1))
    assert by_head.show((1, 0, 4)).index == (1, 2, 4) and by_head.canonical((1, 2, 4)) == (1, 0, 4)
    assert result(np.zeros((2, 3, 5))).show((1, 2, 4)).index == (1, 2, 4)


def test_evidence_defaults() -> None:
    assert Evidence((Shown(REQUEST),)).kind == "value"


@given(st.floats(min_value=0, exclude_min=True, allow_infinity=False))
def test_an_allowed_error_is_rounded_up_by_at_most_one_per_cent(bound: float) -> None:
    shown = float(round_up(bound))
    assert bound <= shown and (shown <= 1.01 * bound or bound < 1e-300)
