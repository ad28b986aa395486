"""The laws of the value on faults, on a correct reference and on this package's own kernels.

Each law of the value refutes a fault that breaks it, and lets correct implementations pass.
The faults stand in attention_core/faults/value.py, one per function.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from judging import held, refuted

from attention_core.conformance.laws import value, value_relations
from attention_core.faults import value as faults
from attention_core.faults.bases.reference import correct
from attention_core.kernels.dot_product import dot_product_attention
from attention_core.kernels.tiled import tiled_attention

LAWS = [law for family in (value, value_relations) for law in family.LAWS]


RETURNS = {
    "returned_weights_are_right": "out,weights",
    "returned_lse_is_right": "out,lse",
    "parts_merge_by_log_sum_exp": "out,lse",
}


REFUTED = [
    ("agrees_with_truth", "wrong_scale"),
    ("agrees_with_truth", "scale_by_model_width"),
    ("agrees_with_truth", "scale_missing"),
    ("agrees_with_truth", "scale_one_per_cent_off"),
    ("agrees_with_truth", "softcap_always"),
    ("agrees_with_truth", "cosine_scores"),
    ("agrees_with_truth", "second_block_skipped"),
    ("weights_are_a_distribution", "mask_after_softmax"),
    ("weights_are_a_distribution", "softmax_over_queries"),
    ("weights_are_a_distribution", "softmax_over_heads"),
    ("weights_are_a_distribution", "softmax_plus_one"),
    ("output_lies_in_the_hull", "negative_weights"),
    ("a_leading_key_is_copied", "values_one_late"),
    ("a_leading_key_is_copied", "scores_clamped"),
    ("a_leading_key_is_copied", "finite_scores_clamped"),
    ("zero_queries_average", "first_key_sink"),
    ("zero_queries_average", "hard_maximum"),
    ("two_matching_keys_are_averaged", "hard_maximum"),
    ("scale_zero_averages", "scale_zero_is_default"),
    ("scale_zero_averages", "scale_ignored"),
    ("large_scales_pick_the_best_key", "scores_clamped"),
    ("large_scales_pick_the_best_key", "scale_ignored"),
    ("returned_weights_are_right", "weights_before_softmax"),
    ("returned_weights_are_right", "weights_dropped_out"),
    ("returned_lse_is_right", "lse_base_two"),
    ("returned_lse_is_right", "lse_without_maximum"),
    ("a_common_key_vector_cancels", "softmax_plus_one"),
    ("a_common_key_vector_cancels", "cosine_scores"),
    ("output_is_affine_in_the_values", "values_clamped"),
    ("turning_queries_and_keys_together_changes_nothing", "last_feature_dropped"),
    ("doubled_keys_change_nothing", "length_in_the_scale"),
    ("gradients_of_doubled_keys_add_up", "late_values_detached"),
    ("scale_may_move_into_the_query", "scale_ignored"),
    ("scale_may_move_into_the_query", "wrong_scale"),
    ("parts_merge_by_log_sum_exp", "lse_base_two"),
    ("parts_merge_by_log_sum_exp", "lse_without_maximum"),
]  # fmt: skip


@pytest.mark.thorough(one_for="law")
@pytest.mark.parametrize(("law", "fault"), REFUTED)
def test_law_refutes_the_fault(law: str, fault: str) -> None:
    record: dict[str, Any] = {"returns": RETURNS[law]} if law in RETURNS else {}
    refuted(law, faults.FAULTS[fault](), **record)


def test_every_law_has_a_fault_it_refutes() -> None:
    proven = dict.fromkeys(law for law, _ in REFUTED)
    assert list(proven) == [law.name for law in LAWS]
    assert {(law.name, law.fault) for law in LAWS} <= set(REFUTED)
    assert {law.fault for law in LAWS} <= faults.FAULTS.keys()


@pytest.mark.thorough(table=True)
@pytest.mark.parametrize("law", [law.name for law in LAWS if law.name not in RETURNS])
@pytest.mark.parametrize("function", [correct, dot_product_attention, tiled_attention])
def test_law_holds_for_correct_implementations(law: str, function: Any) -> None:
    held(law, function)


@pytest.mark.parametrize("law", RETURNS)
def test_law_of_a_second_result_holds_for_a_correct_one(law: str) -> None:
    make = faults.correct_with_weights if RETURNS[law] == "out,weights" else faults.correct_with_lse
    held(law, make(), returns=RETURNS[law])


@pytest.mark.parametrize("law", [law.name for law in LAWS if law.name not in RETURNS])
def test_law_holds_for_fused_attention(law: str) -> None:
    held(law, torch_attention)


def torch_attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> torch.Tensor:  # fmt: skip
    return torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )
