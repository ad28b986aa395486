"""The picture of a case shows the weights of its call, and none where the call is another one."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from attention_core.conformance.cases.case import Case
from attention_core.conformance.report.heat_map import colour, draw_case
from attention_core.conformance.report.law_result import Counterexample


def found(case: Case, message: str = "", *, calls_case: bool = True) -> Counterexample:
    return Counterexample("a_law", message, case.describe(), case.to_json(), "", calls_case=calls_case)


def case(n_q: int = 3, n_kv: int = 3, **fields: Any) -> Case:
    query, key = np.zeros((1, 2, n_q, 4)), np.zeros((1, 2, n_kv, 4))
    return Case("float32", query, key, key, **fields)


def weights(picture: str) -> list[str]:
    return re.findall(r"<title>([^<]*)</title>", picture)


def test_the_weights_are_those_of_the_case() -> None:
    assert weights(draw_case(found(case(is_causal=True)), {})) == ["1", "0", "0", "0.5", "0.5", "0", *["0.333"] * 3]
    mask = np.array([[True, False, False], [False, False, False], [True, True, True]])
    assert weights(draw_case(found(case(mask=mask)), {})) == ["1", *"00000", *["0.333"] * 3]


def test_the_alignment_is_the_declared_one() -> None:
    late = case(1, 3, is_causal=True)
    assert weights(draw_case(found(late), {"causal": "bottom_right"})) == ["0.333"] * 3
    assert weights(draw_case(found(late), {"causal": "top_left"})) == ["1", "0", "0"]


@pytest.mark.parametrize(
    "message, row", [("output: got 3 at [0, 1, 2, 0], but should be 0", "query 2"),
                     ("gradient of key: got 3 at [0, 1, 2, 0], but should be 0", None),
                     ("output: got 3 at [0, 1, 9, 0], but should be 0", None)]
)  # fmt: skip
def test_a_frame_stands_around_the_row_that_is_wrong(message: str, row: str | None) -> None:
    picture = draw_case(found(case(), message), {})
    assert ("framed" in picture) == (row is not None) and (row is None or f"framed: {row}" in picture)
    assert ("head 1" in picture) == (row is not None)


def test_there_is_none_where_the_call_is_another_or_too_large_or_damaged() -> None:
    assert draw_case(found(case(), calls_case=False), {}) == ""
    assert draw_case(found(case(40, 40)), {}) == "" and draw_case(found(case(0, 3)), {}) == ""
    damaged = Counterexample("a_law", "", "", {"type": "attention", "query": 3}, "", calls_case=True)
    assert draw_case(damaged, {}) == ""


def test_what_is_not_a_weight_is_red() -> None:
    assert {colour(x) for x in (float("nan"), -0.1, 1.1)} == {"#c62828"} and colour(0.0) != colour(1.0)
