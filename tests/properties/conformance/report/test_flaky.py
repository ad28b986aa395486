"""A call that gives other numbers when it is made again is told as that, whatever law met it first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from attention_core.conformance import Implementation, check_implementation
from attention_core.conformance.engine.session import Session, select_laws
from attention_core.conformance.report.flaky import differ


def plain(query: Any, key: Any, value: Any) -> Any:
    return torch.softmax(query @ key.mT * query.shape[-1] ** -0.5, -1) @ value


def flaky(query: Any, key: Any, value: Any) -> Any:
    """In one call of three the output is doubled."""
    flaky.calls = getattr(flaky, "calls", 0) + 1  # type: ignore[attr-defined]
    return plain(query, key, value) * (2 if flaky.calls % 3 == 0 else 1)  # type: ignore[attr-defined]


def wrong(query: Any, key: Any, value: Any) -> Any:
    return 2 * plain(query, key, value)


@pytest.mark.parametrize("function", [flaky, wrong])
def test_different_answers_are_told_in_place_of_the_law(function: Any) -> None:
    record = Implementation(function, name="f", dtypes=("float32",), gradients=False)
    report = check_implementation(record, "quick", laws=("weights_are_a_distribution",))
    (found,) = report.counterexamples
    assert report.reason().startswith("different answers: got ") == (function is flaky)
    assert (found.title == "different answers") == (function is flaky)
    assert found.message.startswith("the same call gives different answers: got ") == (function is flaky)
    space: dict[str, Any] = {}
    text = found.snippet
    with pytest.raises(AssertionError):
        exec(text, space)
    assert ("range(1000)" in text) == (function is flaky) and len(text.splitlines()) < 25


REMEMBERS = """
import torch
last = [None]

def attention(query, key, value):
    out = torch.softmax(query @ key.mT * query.shape[-1] ** -0.5, -1) @ value
    before, last[0] = last[0], (query.shape, key.shape)
    return out if before in (None, last[0]) else 2 * out
"""


def test_what_earlier_calls_leave_behind_is_not_called_chance(tmp_path: Path) -> None:
    (tmp_path / "remembers.py").write_text(REMEMBERS)
    record = Implementation(wrong, name="f", dtypes=("float32",), gradients=False)
    with Session(record, f"{tmp_path}/remembers.py:attention", effort="quick", shrink=False) as session:
        found = session.run(select_laws(session.laws, ["weights_are_a_distribution"])[0])
    assert found.message.startswith("the same call gives different answers: got ")
    assert "which may depend on earlier calls" in found.message
    assert found.counterexample is not None and "range(1000)" not in found.counterexample.snippet


def test_numbers_differ_beyond_what_a_law_allows() -> None:
    assert not differ([1.0, 1.1, None], 0.2) and differ([1.0, 1.3], 0.2)
    assert differ([1.0, float("nan")], 0.2) and not differ([float("nan"), float("nan")], 0.2)
    assert differ([float("inf"), float("-inf")], 1.0) and not differ([], 0.0)
