"""The laws of causality: no false alarm on correct functions, and each refutes the faults that it is for.

Both alignments are tried; what is right under one is a fault under the other.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from judging import held, judged, refuted
from torch import Tensor

from attention_core.conformance.laws import causality
from attention_core.faults import causality as faults
from attention_core.faults.bases.reference import correct
from attention_core.kernels.dot_product import dot_product_attention
from attention_core.kernels.tiled import tiled_attention

NAMES = [law.name for law in causality.LAWS]
BOTTOM = {"causal": "bottom_right"}


def torch_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """torch's function with a signature that can be read."""
    return torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )


@pytest.mark.parametrize("law", NAMES)
@pytest.mark.parametrize(
    "function", [correct, dot_product_attention, tiled_attention], ids=["reference", "dot_product", "tiled"]
)
def test_correct_functions_hold(law: str, function: Any) -> None:
    held(law, function)


@pytest.mark.parametrize("law", NAMES)
def test_bottom_right_holds_where_declared(law: str) -> None:
    held(law, faults.aligned_bottom_right(), **BOTTOM)


@pytest.mark.parametrize("law", [n for n in NAMES if n != "causal_holds_at_any_scale"])
def test_torch_holds(law: str) -> None:
    held(law, torch_attention)


REFUTED: list[tuple[str, str, dict[str, Any]]] = [
    ("no_row_sees_a_later_one", "sees_one_later_key", {}),
    ("no_row_sees_a_later_one", "causality_ignored", {}),
    ("no_row_sees_a_later_one", "last_row_of_block_sees_next", {}),
    ("no_row_sees_a_later_one", "blocks_on_the_diagonal_open", {}),
    ("no_row_sees_a_later_one", "first_row_sees_everything", {}),
    ("no_row_sees_a_later_one", "second_head_is_open", {}),
    ("no_row_sees_a_later_one", "causal_needs_a_mask", {}),
    ("no_row_sees_a_later_one", "normaliser_sees_later_keys", {}),
    ("no_row_sees_a_later_one", "maximum_over_later_keys", {}),
    ("no_row_sees_a_later_one", "later_values_shift_the_mean", {}),
    ("no_row_sees_a_later_one", "mask_of_first_call", {}),
    ("later_rows_get_no_gradient", "backward_ignores_causality", {}),
    ("later_rows_get_no_gradient", "backward_off_by_one", {}),
    ("later_rows_leave_gradients_alone", "backward_normaliser_sees_later_keys", {}),
    ("causal_alignment_is_as_declared", "aligned_bottom_right", {}),
    ("causal_alignment_is_as_declared", "aligned_top_left", BOTTOM),
    ("causal_alignment_is_as_declared", "offset_of_one_too_few", BOTTOM),
    ("causal_alignment_is_as_declared", "offset_kept_above_zero", BOTTOM),
    ("causal_alignment_is_as_declared", "chunk_treated_as_square", BOTTOM),
    ("causal_alignment_is_as_declared", "offset_from_head_axis", BOTTOM),
    ("prefill_equals_step_by_step", "chunk_treated_as_square", BOTTOM),
    ("prefill_equals_step_by_step", "aligned_top_left", BOTTOM),
    ("prefill_equals_step_by_step", "sees_earlier_keys_only", {}),
    ("prefill_equals_step_by_step", "mask_of_first_call", {}),
    ("causal_holds_at_any_scale", "causal_filled_before_scaling", {}),
    ("the_flag_equals_the_mask", "causal_needs_a_mask", {}),
    ("the_flag_equals_the_mask", "sees_earlier_keys_only", {}),
]


@pytest.mark.parametrize(("law", "fault", "declared"), REFUTED, ids=[f"{r[0]}-{r[1]}" for r in REFUTED])
def test_faults_are_refuted(law: str, fault: str, declared: dict[str, Any]) -> None:
    refuted(law, getattr(faults, fault)(), **declared)


def test_every_law_names_a_fault_that_it_refutes() -> None:
    named = {(law.name, law.fault) for law in causality.LAWS}
    # chunk_treated_as_square is a fault of decoding, so of the alignment that decoding declares
    assert named <= {(law, fault) for law, fault, _ in REFUTED}


def test_a_function_without_the_flag_is_not_judged() -> None:
    def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return correct(query, key, value)

    result = judged("no_row_sees_a_later_one", attention)
    assert (result.status, result.message) == ("not_applicable", "is_causal not claimed")


def test_a_counterexample_holds_whole_numbers_in_what_was_planted_too() -> None:
    def masked_after_the_softmax(query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False) -> Tensor:
        weights = torch.softmax(query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5, -1)
        return (weights.tril() if is_causal else weights) @ value

    found = judged("no_row_sees_a_later_one", masked_after_the_softmax, dtypes=("float32",), shrink=200).counterexample
    assert found is not None
    tensors = re.findall(r"\b[kv]2? = torch\.tensor\(([^)]*)\)", found.snippet)
    numbers = [float(number) for line in tensors for number in re.findall(r"-?[\d.]+", line)]
    assert len(numbers) >= 4 and all(number.is_integer() for number in numbers), found.snippet


@pytest.mark.parametrize("law", ["later_rows_get_no_gradient", "later_rows_leave_gradients_alone"])
@pytest.mark.parametrize("dead_rows", ["nan", "unspecified"])
def test_rows_that_are_nan_as_declared_may_spoil_gradients(law: str, dead_rows: str) -> None:
    """Bottom-right causality leaves the first of many queries without a key: NaN times a cotangent of 0 is NaN."""

    def textbook(query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False) -> Tensor:
        n_q, n_kv = query.shape[-2], key.shape[-2]
        s = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
        if is_causal:
            s = s.masked_fill(~torch.ones(n_q, n_kv, dtype=torch.bool).tril(n_kv - n_q), -torch.inf)
        return torch.softmax(s, -1) @ value

    held(law, textbook, "standard", causal="bottom_right", dead_rows=dead_rows)
