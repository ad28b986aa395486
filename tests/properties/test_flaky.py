"""A call that gives other numbers when it is made again is told as that, whatever law met it first."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from attention_core.conformance import Implementation, check_implementation
from attention_core.conformance.flaky import differ


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
    (found,) = check_implementation(record, "quick", laws=("weights_are_a_distribution",)).counterexamples
    assert (found.title == "different answers") == (function is flaky)
    assert found.message.startswith("the same call gives different answers: got ") == (function is flaky)
    space: dict[str, Any] = {}
    text = found.snippet
    with pytest.raises(AssertionError):
        exec(text, space)
    assert ("range(1000)" in text) == (function is flaky) and len(text.splitlines()) < 25


def test_numbers_differ_beyond_what_a_law_allows() -> None:
    assert not differ([1.0, 1.1, None], 0.2) and differ([1.0, 1.3], 0.2)
    assert differ([1.0, float("nan")], 0.2) and not differ([float("nan"), float("nan")], 0.2)
    assert differ([float("inf"), float("-inf")], 1.0) and not differ([], 0.0)
