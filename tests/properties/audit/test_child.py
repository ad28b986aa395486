"""What stands in the target's place in the process of a suite."""

from __future__ import annotations

from typing import Any

import torch

from attention_core.audit.child import Telling, Watch
from attention_core.audit.plan import Plan


def attention(q: Any, k: Any, v: Any) -> tuple[Any, None]:
    return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1) @ v, None


def test_calls_are_counted_and_their_forms_noted() -> None:
    watch = Watch(attention)
    for _ in range(2):
        watch.call(*(torch.ones(1, 1, 2, 3) for _ in range(3)))
    assert watch.calls["all"] == 2 and [form.kind for form in watch.forms] == ["tuple"]


def test_the_plan_says_what_stands_in_the_place() -> None:
    told: list[dict[str, Any]] = []
    form = {"kind": "tuple", "keys": (), "empty": (False, True)}
    telling = Telling(Plan("m:f", "replace", "heads_and_batch.softmax_over_queries", form=form), told.append)
    arrays = [torch.eye(3)[None, None] for _ in range(3)]
    found = telling.make(attention)(*arrays)
    s = arrays[0] @ arrays[1].mT / 3**0.5
    assert found[1] is None and torch.allclose(found[0], torch.softmax(s, -2) @ arrays[2])
    telling.report_end(1)
    assert told[-1]["end"] == 1 and told[-1]["calls"]["in place"] == 1


def test_what_is_not_a_function_is_a_problem() -> None:
    telling = Telling(Plan("m:f", "watch"), lambda message: None)
    assert telling.make(torch.nn.Linear) is torch.nn.Linear and "is not a function" in telling.problem
