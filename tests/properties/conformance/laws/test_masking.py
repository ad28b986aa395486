"""The laws of masking: no false alarm on correct functions, and each refutes the faults that it is for.

Covers the files masking, masking_gradients, mask_forms and dead_rows of the family.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
import torch
from judging import held, judged, refuted
from thorough import takes_fewest
from torch import Tensor

from attention_core.conformance.laws import dead_rows, mask_forms, masking, masking_gradients
from attention_core.faults import dead_rows as dead_faults
from attention_core.faults import mask_forms as form_faults
from attention_core.faults import masking as faults
from attention_core.faults import tiles
from attention_core.faults.bases.reference import build, correct
from attention_core.kernels.dot_product import dot_product_attention
from attention_core.kernels.tiled import tiled_attention

ALL = [law for file in (masking, masking_gradients, mask_forms, dead_rows) for law in file.LAWS]
IGNORED, PROPAGATES = {"masked_nan": "ignored"}, {"masked_nan": "propagates"}


def torch_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """torch's function with a signature that can be read."""
    return torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )


def record(law: str) -> dict[str, Any]:
    """The declaration under which a law applies at all."""
    if law == "masked_nan_propagates_where_declared":
        return PROPAGATES
    return IGNORED if law.startswith("nonfinite") else {}


CORRECT = [
    ("reference", correct, PROPAGATES),
    ("torch", torch_attention, PROPAGATES),
    ("dot_product", dot_product_attention, IGNORED),
    ("tiled", tiled_attention, IGNORED),
]


@pytest.mark.thorough(keep=("*-reference",))
@pytest.mark.parametrize(("name", "function", "declared"), CORRECT, ids=[c[0] for c in CORRECT])
@pytest.mark.parametrize("law", [law.name for law in ALL])
def test_correct_functions_hold(law: str, name: str, function: Any, declared: dict[str, Any]) -> None:
    if record(law) not in ({}, declared):
        pytest.skip("not declared by this function")
    held(law, function, **declared)


@pytest.mark.thorough(table=True)
@pytest.mark.parametrize("convention", ["zeros", "nan", "uniform", "unspecified"])
@pytest.mark.parametrize("law", [law.name for law in dead_rows.LAWS])
def test_every_convention_of_dead_rows_is_accepted(law: str, convention: str) -> None:
    functions = {
        "zeros": correct,
        "nan": dead_faults.dead_rows_are_nan(),
        "uniform": dead_faults.dead_rows_are_means(),
        "unspecified": dead_faults.dead_rows_are_nan_for_float_masks(),
    }
    result = judged(law, functions[convention], dead_rows=convention)
    assert result.status in ("held", "not_applicable"), result.message


@pytest.mark.parametrize("law", [law.name for law in masking_gradients.LAWS if record(law.name) == {}])
def test_gradients_are_judged_beside_no_dead_row_that_is_declared_nan(law: str) -> None:
    held(law, dead_faults.dead_rows_are_nan(), dead_rows="nan")


REFUTED: list[tuple[str, ModuleType, str]] = [
    ("masked_keys_are_invisible", faults, "mask_ignored"),
    ("masked_keys_are_invisible", faults, "masked_fill_discarded"),
    ("masked_keys_are_invisible", faults, "polarity_reversed"),
    ("masked_keys_are_invisible", faults, "additive_mask_cast_to_bool"),
    ("masked_keys_are_invisible", faults, "mask_after_softmax"),
    ("masked_keys_are_invisible", faults, "infinity_after_softmax"),
    ("masked_keys_are_invisible", faults, "wrong_sign_infinity"),
    ("masked_keys_are_invisible", form_faults, "query_mask_used_for_keys"),
    ("masked_keys_are_invisible", form_faults, "mask_of_first_in_batch"),
    ("masked_keys_are_invisible", form_faults, "mask_of_first_head"),
    ("masked_keys_are_invisible", form_faults, "expand_keys_of_first_mask_row"),
    ("masked_keys_are_invisible", form_faults, "first_key_head_mask"),
    ("huge_masked_keys_are_invisible", faults, "additive_fill_1e9"),
    ("huge_masked_keys_are_invisible", faults, "additive_fill_1e4"),
    ("huge_masked_keys_are_invisible", faults, "mask_after_softmax_renormalised"),
    ("nonfinite_masked_keys_are_invisible", faults, "nan_leaks_through_zero_weight"),
    ("masked_nan_propagates_where_declared", faults, "masked_nan_removed"),
    ("masked_nan_propagates_where_declared", faults, "masked_nan_leaves_its_slice"),
    ("masked_keys_stay_masked_at_low_logits", faults, "fill_1e4"),
    ("masked_keys_stay_masked_at_low_logits", faults, "fill_1e9"),
    ("masked_keys_stay_masked_at_low_logits", faults, "masked_score_comes_back"),
    ("masked_keys_get_no_gradient", faults, "backward_ignores_mask"),
    ("masked_keys_leave_gradients_alone", faults, "backward_renormalises_over_all_keys"),
    ("huge_masked_keys_leave_gradients_alone", faults, "additive_fill_1e9"),
    ("nonfinite_masked_keys_leave_gradients_alone", faults, "nan_leaks_in_backward"),
    ("bool_and_additive_masks_agree", faults, "additive_mask_cast_to_bool"),
    ("bool_and_additive_masks_agree", faults, "polarity_reversed"),
    ("bool_and_additive_masks_agree", faults, "masked_fill_discarded"),
    ("a_bias_is_added_to_scaled_scores", form_faults, "bias_before_scaling"),
    ("a_bias_is_added_to_scaled_scores", form_faults, "finite_bias_ignored"),
    ("a_bias_is_added_to_scaled_scores", form_faults, "bias_subtracted"),
    ("a_constant_added_to_a_row_changes_nothing", form_faults, "no_maximum_taken_out_of_biased_scores"),
    ("a_broadcast_mask_equals_its_expansion", form_faults, "batch_axis_taken_for_heads"),
    ("a_broadcast_mask_equals_its_expansion", form_faults, "heads_repeated_beside_batch"),
    ("a_broadcast_mask_equals_its_expansion", form_faults, "heads_axis_taken_for_batch"),
    ("padding_changes_nothing", form_faults, "right_padding_assumed"),
    ("padding_changes_nothing", faults, "mask_ignored"),
    ("padding_changes_nothing", form_faults, "batch_axis_taken_for_heads"),
    ("padding_changes_nothing", tiles, "two_empty_splits_swallow_the_row"),
    ("padding_changes_no_gradient", faults, "backward_ignores_mask"),
    ("mask_and_causal_mean_both", form_faults, "causal_dropped_beside_mask"),
    ("mask_and_causal_mean_both", form_faults, "mask_dropped_beside_causal"),
    ("mask_and_causal_mean_both", form_faults, "mask_or_causal"),
    ("dead_rows_are_as_declared", dead_faults, "dead_rows_are_nan"),
    ("dead_rows_are_as_declared", dead_faults, "dead_rows_are_means"),
    ("dead_rows_are_as_declared", dead_faults, "dead_rows_are_nan_for_float_masks"),
    ("dead_rows_leave_neighbours_alone", dead_faults, "dead_row_spoils_its_slice"),
    ("dead_rows_leave_neighbours_alone", dead_faults, "dead_row_spoils_the_next"),
    ("dead_rows_have_finite_gradients", dead_faults, "dead_rows_patched_in_forward_only"),
    ("dead_rows_leave_gradients_alone", dead_faults, "dead_row_cotangent_reaches_values"),
    ("rows_dead_by_mask_and_causal_together", dead_faults, "dead_rows_of_mask_alone_are_found"),
    ("rows_dead_by_mask_and_causal_together", dead_faults, "two_lowest_numbers_added"),
    ("rows_dead_by_both_have_true_gradients", dead_faults, "dead_by_both_patched_in_forward_only"),
    ("a_very_low_bias_is_not_dead", dead_faults, "low_bias_taken_for_dead"),
    ("a_very_low_bias_is_not_dead", dead_faults, "low_bias_taken_for_masked"),
    ("a_very_low_bias_is_not_dead", dead_faults, "low_bias_taken_for_masked_beside_causality"),
    ("round_sizes_and_sizes_beyond_are_right", form_faults, "one_row_of_a_mask_ends_at_256"),
    ("an_empty_key_sequence_leaves_dead_rows", dead_faults, "empty_keys_give_nan"),
    ("an_empty_key_sequence_leaves_dead_rows", dead_faults, "empty_keys_leave_memory_as_it_was"),
    ("an_empty_query_sequence_moves_nothing", dead_faults, "empty_queries_get_a_row"),
]


@pytest.mark.thorough(one_for="law")
@pytest.mark.parametrize(("law", "file", "fault"), REFUTED, ids=[f"{r[0]}-{r[2]}" for r in REFUTED])
def test_faults_are_refuted(law: str, file: ModuleType, fault: str) -> None:
    refuted(law, getattr(file, fault)(), **record(law))


def test_every_law_names_a_fault_that_it_refutes() -> None:
    assert {(law.name, law.fault) for law in ALL} <= {(law, fault) for law, _, fault in REFUTED}


@pytest.mark.parametrize("convention", ["nan", "uniform"])
def test_a_wrong_declaration_of_dead_rows_is_refuted(convention: str) -> None:
    refuted("dead_rows_are_as_declared", correct, effort="quick", dead_rows=convention)


@pytest.mark.parametrize("nan", [True, False])
def test_weights_of_a_dead_row_are_numbers_where_its_output_is(nan: bool) -> None:
    def with_weights(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None) -> Any:
        n_kv = key.shape[-2]
        unit = torch.eye(n_kv, dtype=value.dtype).expand(*key.shape[:-1], n_kv)
        weights = correct(query, key, unit, attn_mask)
        lost = (weights.sum(-1, keepdim=True) == 0) & nan  # as pytorch/pytorch#160064 has it
        return correct(query, key, value, attn_mask), weights.masked_fill(lost, torch.nan)

    law, declared = "dead_rows_are_as_declared", {"returns": "out,weights"}
    (refuted if nan else held)(law, with_weights, effort="quick", **declared)


def test_refusing_mask_and_causal_together_is_allowed() -> None:
    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False
    ) -> Tensor:
        if attn_mask is not None and is_causal:
            raise ValueError("give one of them")
        return build()(query, key, value, attn_mask, 0.0, is_causal)

    assert judged("mask_and_causal_mean_both", attention).status == "refused"


def in_tiles(whole: bool) -> Any:
    """Online softmax over tiles of 32 keys; a mask of one column holds in every tile, or in the first alone."""

    def attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None) -> Tensor:
        wide = torch.promote_types(query.dtype, torch.float32)
        q, k, v = query.to(wide) * query.shape[-1] ** -0.5, key.to(wide), value.to(wide)
        largest = torch.full_like(q[..., :1], -torch.inf)
        total, out = torch.zeros_like(largest), q.new_zeros(*q.shape[:-1], v.shape[-1])
        for first in range(0, k.shape[-2], 32):
            scores = q @ k[..., first : first + 32, :].mT
            if attn_mask is not None:
                wide_mask = attn_mask.expand(*attn_mask.shape[:-1], k.shape[-2]) if whole else attn_mask
                tile = wide_mask[..., first : first + 32]
                if tile.numel():
                    scores = scores.masked_fill(~tile, -torch.inf) if tile.dtype == torch.bool else scores + tile
            new = torch.maximum(largest, scores.amax(-1, keepdim=True))
            safe = new.masked_fill(new == -torch.inf, 0.0)
            weights, kept = torch.exp(scores - safe), torch.exp(largest - safe)
            total = kept * total + weights.sum(-1, keepdim=True)
            out, largest = kept * out + weights @ v[..., first : first + 32, :], new
        return (out / total.masked_fill(total == 0, 1.0)).to(query.dtype)

    return attention


@pytest.mark.parametrize("seed", range(3))
def test_a_mask_of_one_column_is_tried_with_more_keys_than_a_tile_holds(seed: int) -> None:
    law = "a_broadcast_mask_equals_its_expansion"
    assert judged(law, in_tiles(whole=False), seed=seed).status == "refuted"
    assert judged(law, in_tiles(whole=True), seed=seed).status == "held"


def rows_taken_for_texts(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None) -> Tensor:
    """A mask (n_q, n_kv) is read as (B, n_kv), keys of each text, where there are as many texts as queries."""
    if attn_mask is not None and attn_mask.dim() == 2 and attn_mask.shape[0] == query.shape[0]:
        attn_mask = attn_mask[:, None, None, :]
    return torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask)


@pytest.mark.parametrize("seed", range(2))
def test_a_mask_of_queries_is_tried_with_as_many_texts(seed: int) -> None:
    refuted("a_broadcast_mask_equals_its_expansion", rows_taken_for_texts, "quick", seed=seed)


@pytest.mark.parametrize("law", ["a_very_low_bias_is_not_dead", "masked_pairs_pass_no_gradient"])
def test_a_flaw_of_causality_at_negative_scales_is_left_to_its_own_law(law: str) -> None:
    """torch's flash kernel masks before it scales; a law about something else says nothing of it, at any seed."""

    def masked_before_scaled(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None,
    ) -> Tensor:  # fmt: skip
        out = correct(query, key, value, attn_mask=attn_mask, is_causal=is_causal, scale=scale)
        return out * float("nan") if is_causal and scale is not None and scale < 0 else out

    for seed in range(1 if takes_fewest() else 4):
        result = judged(law, masked_before_scaled, "standard", seed)
        assert result.status == "held", result.message
