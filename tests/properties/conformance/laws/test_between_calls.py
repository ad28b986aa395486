"""Laws of calls before and between: each refutes its fault in every contract, and right targets conform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from judging import judged, refuted
from torch import Tensor

from attention_core.conformance.laws import between_calls
from attention_core.conformance.laws.between_calls import turn_numbers
from attention_core.faults import block_mask, cross_cache, linear_attention, paged, rotary, seed_attention

WRITTEN, LATER = "arguments_changed_in_place_are_read_anew", "results_outlive_another_call"
BEFORE = "an_earlier_call_of_another_kind_leaves_no_trace"
WIDE: dict[str, Any] = {"accumulate": "float32"}


@pytest.mark.parametrize(
    ("law", "fault", "contract", "record"),
    [
        (WRITTEN, paged.written_table_not_seen(), "paged", WIDE),
        (WRITTEN, block_mask.map_of_the_tensor_kept(), "block-mask", WIDE),
        (WRITTEN, cross_cache.text_known_by_its_keys, "cross-cache", WIDE),
        (LATER, linear_attention.state_in_a_kept_buffer(), "linear-attention", WIDE),
        (BEFORE, rotary.table_of_the_first_dtype(), "rotary", {}),
        (BEFORE, seed_attention.heads_of_the_first_call, "self-attention", {}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_each_refutes_its_faults(law: str, fault: Callable[..., Any], contract: str, record: dict[str, Any]) -> None:
    refuted(law, fault, "quick", contract=contract, **record)


def test_every_law_compares_with_the_truth() -> None:
    assert all(law.compares and law.family == between_calls.FAMILY for law in between_calls.LAWS)


def test_the_program_shows_the_call_before() -> None:
    told = refuted(BEFORE, seed_attention.heads_of_the_first_call, "quick", contract="self-attention")
    assert told.counterexample is not None
    assert told.message.startswith("after another call, ")
    assert told.counterexample.snippet.count("attention(") >= 2


def test_who_declines_another_call_is_judged_by_its_own() -> None:
    def strict(x: Tensor, positions: Tensor) -> Tensor:
        if x.dtype != torch.float32:
            raise ValueError("float32, please")
        return rotary.correct(x, positions)

    result = judged(BEFORE, strict, "quick", contract="rotary")
    assert result.status == "held" and result.refused


def test_whole_numbers_are_changed_into_others_that_a_call_may_hold() -> None:
    def turned(values: list[Any], contract: str) -> Any:
        found = turn_numbers(np.array(values), contract)
        return None if found is None else found.tolist()

    assert turned([0, 2, 7], "varlen") == [0, 5, 7]
    assert turned([3, 1], "varlen") == [2, 1]
    assert turned([[0, 2, -1], [1, 3, 0]], "paged") == [[3, 1, -1], [2, 0, 3]]
    assert turned([0, 2, 7], "paged") is None
    assert turned([4, 5, 6, 9], "rotary") == [4, 6, 5, 9]
    assert turned([4, 5], "rotary") == [5, 6]
