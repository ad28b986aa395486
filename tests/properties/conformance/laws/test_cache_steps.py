"""The subject of the laws of caches: its truth for a window, its order of heads, and where sequences are cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attention_core.conformance import Implementation
from attention_core.conformance.laws.cache_steps import Cache, check_steps, larger_than, two_chunks
from attention_core.conformance.subjects.evidence import Refused, Violation
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.worker.runner import LocalRunner
from attention_core.declaration.implementation import TargetError
from attention_core.faults.bases import cache as right
from attention_core.faults.kv_cache import no_mask_with_cache

CASE = ParameterCase({"B": 1, "H": 2, "n": 7, "d": 3}, dtype="float64", seed=5)


def subject(target: Any = right.Cache, **record: Any) -> Cache:
    implementation = Implementation(target, contract="kv-cache", **record)
    runner = LocalRunner(target, factory=False, array="torch", device="cpu")
    return Cache(runner, implementation, runner.describe())


def softmax_rows(q: np.ndarray, k: np.ndarray, v: np.ndarray, window: int) -> np.ndarray:
    """The last `window` keys of every row, one row after the other."""
    out = np.zeros_like(v)
    for i in range(q.shape[-2]):
        rows = slice(max(0, i - window + 1), i + 1)
        weights = np.exp(np.einsum("bhd,bhjd->bhj", q[:, :, i], k[:, :, rows]) / np.sqrt(q.shape[-1]))
        weights /= weights.sum(-1, keepdims=True)
        out[:, :, i] = np.einsum("bhj,bhjd->bhd", weights, v[:, :, rows])
    return out


@pytest.mark.parametrize(("parameters", "window"), [({}, 7), ({"window": 3}, 3)])
def test_the_truth_is_causal_and_keeps_the_declared_window(parameters: dict[str, int], window: int) -> None:
    one = subject(parameters=parameters)
    parts = one.inputs(CASE)
    true, bound = one.truth(CASE, *parts)
    np.testing.assert_allclose(true, softmax_rows(*parts, window), rtol=1e-12, atol=1e-12)
    last, _ = one.truth(CASE, *parts, slice(5, 7))
    np.testing.assert_array_equal(last, true[..., 5:7, :])
    assert bound.shape == true.shape and (bound > 0).all()


def test_a_window_is_given_to_a_factory_that_asks_for_it() -> None:
    assert subject(parameters={"window": 3}).arguments == (3,)
    assert subject().arguments == ()
    assert subject(type("Plain", (right.Cache,), {"__init__": lambda self: right.Cache.__init__(self, 3)}),
                   parameters={"window": 3}).arguments == ()  # fmt: skip


def test_steps_are_compared_between_all_cuts() -> None:
    check_steps(subject(), CASE, [0, 2, 5, 7], "chunked")
    with pytest.raises(Violation, match=r"chunked: rows 2 to 4"):
        check_steps(subject(no_mask_with_cache), CASE, [0, 2, 5, 7], "chunked")


def test_a_refused_step_brings_the_steps_before_it() -> None:
    class Full(right.Cache):
        def __call__(self, query: Any, key: Any, value: Any) -> Any:
            if self.seen >= 4:
                raise ValueError("the cache is full")
            return super().__call__(query, key, value)

    one = subject(Full)
    with pytest.raises(Refused, match="the cache is full") as caught:
        one.run(CASE, one.fresh_instance(), one.inputs(CASE), [0, 2, 4, 7])
    assert len(caught.value.before) == 2


def test_cuts_and_larger_cases() -> None:
    assert two_chunks(CASE) == [0, 4, 7]
    assert two_chunks(CASE.with_(n=1)) == [0, 1]
    one = subject()
    larger = [larger_than(one, CASE.with_(seed=seed)) for seed in range(20)]
    assert all(a["n"] >= 7 and 1 <= a["B"] <= 3 for a in larger)
    assert any(a["n"] >= 57 for a in larger), "half of them hold several pages more"


def test_objects_that_cannot_be_called_are_refused_with_advice() -> None:
    class Store:
        def append(self, key: Any, value: Any) -> None:
            """Keep them."""

    with pytest.raises(TargetError, match=r"cannot be called, and have no step\(query, key, value\)"):
        subject(Store)
