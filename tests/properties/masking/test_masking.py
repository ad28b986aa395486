"""attention_core.masking: every mask as its set of pairs, enumerated pair by pair."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_core import masking
from attention_core.masking import causal, padding, prefix, segments, sliding_window
from tests.properties.mask_tables import SETTINGS


@SETTINGS
@given(st.lists(st.booleans(), max_size=9), st.sampled_from([torch.float64, torch.float32, torch.bfloat16]))
def test_bool_and_additive_are_inverse(bits: list[bool], dtype: torch.dtype) -> None:
    mask = torch.tensor(bits, dtype=torch.bool)
    additive = masking.to_additive(mask, dtype)
    assert additive.dtype == dtype
    assert additive.tolist() == [0.0 if bit else -float("inf") for bit in bits]
    assert torch.equal(masking.to_bool(additive), mask)


BAD_CALLS: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: causal("left"), ValueError, "align must be one of top_left, bottom_right, got 'left'"),  # type: ignore[arg-type]
    (lambda: sliding_window(0), ValueError, "W must be an integer of at least 1, got 0"),
    (lambda: sliding_window(2.0), ValueError, "W must be an integer"),  # type: ignore[arg-type]
    (lambda: sliding_window(True), ValueError, "W must be an integer"),
    (lambda: prefix(-1), ValueError, "P must be an integer of at least 0, got -1"),
    (lambda: padding([-1]), ValueError, "lengths must not be negative"),
    (lambda: padding([[1]]), ValueError, "lengths must have 1 axes"),
    (lambda: padding(torch.tensor([1.0])), ValueError, "lengths must be integers"),
    (lambda: padding(torch.tensor([True])), ValueError, "lengths must be integers"),
    (lambda: padding([4]).dense(2, 3), ValueError, "a length of 4 exceeds n_kv = 3"),
    (lambda: segments([1, 2]), ValueError, r"ids must have 2 axes, got shape \(2,\); for one sequence, ids\[None\]"),
    (lambda: segments([[1, 2]]).dense(2, 3), ValueError, "ids of 2 tokens do not cover"),
    (lambda: segments([[1, 2, 3]], "bottom_right").dense(3, 2), ValueError, "do not cover"),
    (lambda: causal().dense(-1, 2), ValueError, "must not be negative"),
    (lambda: (padding([1]) & padding([1, 1])).dense(2, 2), ValueError, "masks of 1 and 2 sequences"),
    (lambda: causal() & torch.ones(2, 2), TypeError, "combines with structured masks, got Tensor"),  # type: ignore[operator]
    (lambda: masking.to_additive(torch.zeros(2)), ValueError, "expected a bool mask"),
    (lambda: masking.to_bool(torch.tensor([0.0, -1e9])), ValueError, "only biases of 0 and -inf"),
    (lambda: masking.to_bool(torch.tensor([0.0, float("nan")])), ValueError, "only biases of 0 and -inf"),
    (lambda: masking.to_bool(torch.tensor([True])), ValueError, "expected a floating bias"),
]


@pytest.mark.parametrize(("call", "error", "words"), BAD_CALLS)
def test_bad_calls_are_refused(call: Callable[[], object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()
