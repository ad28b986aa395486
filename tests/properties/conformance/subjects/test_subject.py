"""What a subject remembers.

What is computed once: truths and budgets of cases that differ in memory layout, seed or label alone are one thing,
and a first look asks for each of them once, under however many conventions it compares an answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attention_core.conformance import Implementation
from attention_core.conformance.budgets import budget
from attention_core.conformance.cases.case import Case
from attention_core.conformance.engine.session import Session
from attention_core.conformance.subjects.subject import LEAST, Memory, Subject
from attention_core.dispatch.attention import attention


def case_of(n: int = 3) -> Case:
    rng = np.random.default_rng(0)
    query, key, value = rng.integers(-2, 3, (3, 1, 2, n, 4)).astype(np.float64)
    return Case("float32", query, key, value)


def subject_of(function: Any) -> Subject:
    with Session(Implementation(function), effort="quick") as session:
        subject: Subject = session.subject
        return subject


def test_cases_that_differ_in_memory_alone_share_truth_and_budget() -> None:
    subject, case = subject_of(attention), case_of()
    for other in (case.with_(views={"key": "transposed"}), case.with_(seed=7), case.with_(label="x")):
        assert subject.truth(other) is subject.truth(case)
        assert subject.bounds(other) is subject.bounds(case)


@pytest.mark.parametrize(
    "changes", [{"dtype": "bfloat16"}, {"is_causal": True}, {"scale": 2.0}, {"mask": np.eye(3, dtype=bool)}]
)
def test_other_problems_have_budgets_of_their_own(changes: dict[str, Any]) -> None:
    subject, case = subject_of(attention), case_of()
    assert subject.bounds(case.with_(**changes)) is not subject.bounds(case)


def test_the_oldest_is_forgotten_first_and_large_cases_count_for_more() -> None:
    memory, made = Memory(most=3 * LEAST), []
    cases = [case_of() for _ in range(4)]
    for number, case in enumerate(cases):
        memory.get(case, (number,), lambda number=number: made.append(number))  # type: ignore[misc]
    for number in (3, 2, 1, 0):
        memory.get(cases[number], (number,), lambda number=number: made.append(number))  # type: ignore[misc]
    assert made == [0, 1, 2, 3, 0]
    memory.get(case_of(60), ("large",), lambda: made.append(4))
    memory.get(cases[1], (1,), lambda: made.append(1))
    assert made == [0, 1, 2, 3, 0, 4, 1]


def test_a_first_look_computes_each_budget_once(monkeypatch: pytest.MonkeyPatch) -> None:
    computed, forward_bound = [0], budget.forward_bound

    def counting(*args: Any, **options: Any) -> Any:
        computed[0] += 1
        return forward_bound(*args, **options)

    monkeypatch.setattr(budget, "forward_bound", counting)
    with Session(Implementation(attention), effort="quick") as session:
        assert session.first_look is not None
    assert 0 < computed[0] < 300  # 639 where every convention has budgets of its own


def test_gradients_and_what_their_budget_begins_with_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    subject, case = subject_of(attention), case_of()
    down = case.cotangent()
    assert case.cotangent() is down
    true = subject.true_gradients(case, down)
    subject.bounds(case)
    monkeypatch.setattr(budget, "Rows", None)  # the forward budget has them
    bounds = subject.gradient_bounds(case, down, true)
    assert subject.true_gradients(case, down) is true
    assert subject.gradient_bounds(case, down, true) is bounds
    monkeypatch.undo()
    alone = budget.backward_bound(
        case.query, case.key, case.value, down, subject.truth(case), true, scale=case.factor, dtype=case.dtype,
        dead_rows="zeros",
    )  # fmt: skip
    assert np.array_equal(bounds.query, alone.query) and np.array_equal(bounds.value, alone.value)


def without_features(query: Any, key: Any, value: Any, mask: Any = None, *, scale: float | None = None) -> Any:
    return attention(query, key, value, mask, scale=scale)


def test_a_first_look_asks_no_more_once_all_agrees() -> None:
    with Session(Implementation(without_features), effort="quick") as session:
        look = session.first_look
        assert look is not None and look.agrees and look.calls < 60  # 90 where every convention was asked about
