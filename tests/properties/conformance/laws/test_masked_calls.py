"""Whether a case can fail: null models are counted where they lie beyond the budget, and a case without one is left out."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attention_core.conformance.laws.masked_calls import compare, count_power
from attention_core.conformance.subjects.evidence import NotApplicable, Result, Violation
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.worker.exchange import Request

SHAPE = (1, 1, 2, 1)


def judged(rows: tuple[bool, bool] = (True, True)) -> Any:
    """A truth of zeros with a budget of 1e-6."""
    return SimpleNamespace(out=np.zeros(SHAPE), bound=np.full(SHAPE, 1e-6), rows=np.reshape(rows, (1, 1, 2, 1)))


def subject() -> Any:
    counts = {"powers": Counter(), "relevant": Counter(), "ratios": {}}
    return SimpleNamespace(**counts, implementation=SimpleNamespace(contract="tree-mask"))


def off(*values: float) -> np.ndarray[Any, Any]:
    return np.reshape(values, SHAPE)


def test_null_models_beyond_the_budget_are_counted() -> None:
    s = subject()
    count_power(s, "law", {"far": off(0, 1), "near": off(1e-6, 0), "same": off(0, 0), "nan": off(np.nan, 0)}, judged())
    assert s.powers == {("law", "far"): 1, ("law", "near"): 0, ("law", "same"): 0, ("law", "nan"): 1}
    assert s.relevant["law", "near"] == 1 and s.relevant["law", "same"] == 0


@pytest.mark.parametrize(("nulls", "rows"), [({"same": off(0, 0)}, (True, True)), ({"far": off(1, 0)}, (False, True))])
def test_a_case_that_cannot_fail_is_left_out(nulls: dict[str, Any], rows: tuple[bool, bool]) -> None:
    with pytest.raises(NotApplicable, match="no wrong call that is tried would stand out"):
        count_power(subject(), "law", nulls, judged(rows))


def test_results_are_compared_in_the_rows_that_count() -> None:
    s, case = subject(), ParameterCase({"n": 2})
    compare(s, case, Result(off(1.0, 5e-7), Request(), "out"), judged((False, True)), "out")
    assert s.ratios == {("float32", "tree-mask"): pytest.approx(0.5)}
    with pytest.raises(Violation, match=r"out: got 1 at \[0, 0, 0, 0\]"):
        compare(s, case, Result(off(1.0, 0.0), Request(), "out"), judged(), "out")
