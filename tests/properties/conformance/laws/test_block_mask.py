"""Power and false alarms of the laws of block maps: each refutes its fault, every fault is refuted, right ones conform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from judging import refuted
from judging_contracts import conforming, first_refuting, named_faults
from torch import Tensor

from attention_core.conformance.laws import block_mask
from attention_core.conformance.laws.block_mask import CONTRACT
from attention_core.faults import block_mask as faults
from attention_core.kernels.block_map import block_map_attention

WIDE: dict[str, Any] = {"accumulate": "float32"}
SEEN_BY = {  # what no law but these is sure to see
    "map_of_the_key_head": "every_head_has_its_own_map",
    "map_of_the_tensor_kept": "arguments_changed_in_place_are_read_anew",
    "rows_behind_the_row_of_a_map": "arrays_are_read_by_their_strides",
    "row_of_a_map_written_into": "arrays_are_read_by_their_strides",
    "map_read_in_order": "arrays_are_read_by_their_strides",
    "sixteen_blocks_at_most": "many_blocks_are_attended_whole",
    "other_blocks_weigh_little": "keys_outside_the_blocks_do_not_matter",
    "maximum_not_subtracted": "large_scores_of_attended_blocks_stay_numbers",
    "dead_rows_are_means": "rows_without_any_block_are_as_declared",
    "dead_rows_are_nan": "rows_without_any_block_are_as_declared",
    "dead_rows_keep_the_row_before": "rows_without_any_block_are_as_declared",
    "causal_by_blocks": "causality_holds_within_blocks",
    "given_scale_ignored": "a_scale_that_is_given_counts_under_a_map",
    "scale_of_zero_taken_for_none": "a_scale_that_is_given_counts_under_a_map",
    "backward_ignores_the_map": "gradients_under_a_map_are_true",
    "empty_rows_cleaned_behind_the_softmax": "gradients_under_a_map_are_true",
    "whole_blocks_of_a_mask_mod": "a_mask_mod_holds_within_blocks",
    "score_mod_before_the_scale": "a_score_mod_is_added_to_scaled_scores",
    "groups_of_three_in_turn": "every_head_has_its_own_map",
    "maximum_of_blocks_from_zero": "large_scores_of_attended_blocks_stay_numbers",
}


def dense(q: Tensor, k: Tensor, v: Tensor, block_mask: Tensor, block_size: int, causal: bool = False) -> Tensor:
    """Pair by pair, in the dtype of the inputs; equal heads alone."""
    if q.shape[1] != k.shape[1]:
        raise ValueError("heads differ")
    pairs = block_mask.repeat_interleave(block_size, -2).repeat_interleave(block_size, -1)
    pairs = pairs[..., : q.shape[2], : k.shape[2]]
    if causal:
        pairs = pairs & torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril()
    scores = (q @ k.mT * q.shape[-1] ** -0.5).masked_fill(~pairs, -torch.inf)
    return scores.softmax(-1).nan_to_num(0.0) @ v


def fixed(q: Tensor, k: Tensor, v: Tensor, M: Tensor) -> Tensor:
    """Tokens before heads, a map of heads in blocks of 24 x 16 that hides where it is 1."""
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    out: Tensor = faults.build()(q, k, v, M[None] == 0, 24, 16)
    return out.transpose(1, 2)


def sparse_rows(q: Tensor, k: Tensor, v: Tensor, indptr: Tensor, indices: Tensor, block_q: int, block_k: int) -> Tensor:
    """FlashInfer's form: one map of compressed rows."""
    columns = -(-k.shape[2] // block_k)
    blocks = torch.zeros(1, 1, len(indptr) - 1, columns, dtype=torch.bool)
    for r in range(len(indptr) - 1):
        blocks[..., r, indices[indptr[r] : indptr[r + 1]].long()] = True
    out: Tensor = faults.build()(q, k, v, blocks, block_q, block_k)
    return out


def block_sparse_attn_func(
    q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, head_mask_type: Tensor,
    streaming_info: Any, base_blockmask: Tensor, max_seqlen_q_: int, max_seqlen_k_: int, p_dropout: float,
    softmax_scale: float | None = None, is_causal: bool = False,
) -> Tensor:  # fmt: skip
    """The call of Block-Sparse-Attention, in blocks of 16; heads without a map of their own are not taken."""
    assert streaming_info is None and p_dropout == 0 and head_mask_type.tolist() == [*range(1, q.shape[1] + 1)]
    heads = [x.unflatten(0, (len(cu_seqlens_q) - 1, -1)).transpose(1, 2) for x in (q, k, v)]
    assert heads[0].shape[2] == max_seqlen_q_ and heads[1].shape[2] == max_seqlen_k_ == cu_seqlens_k[1]
    out: Tensor = faults.build()(*heads, base_blockmask, 16, 16, is_causal, softmax_scale)
    return out.transpose(1, 2).flatten(0, 1)


def by_mask_mod(q: Tensor, k: Tensor, v: Tensor, mask_mod: Any) -> Tensor:
    """attention-gym's form."""
    pairs = faults.add(lambda s, *at: mask_mod(*at), torch.empty(*q.shape[:3], k.shape[2]))
    group = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(group, 1) for x in (k, v))
    return faults.weigh(q @ k.mT * q.shape[-1] ** -0.5, pairs, v)


RIGHT: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "kernel": (block_map_attention, WIDE),
    "steps": (faults.build(), {**WIDE, "masked_nan": "ignored"}),
    "flex": (faults.flexible(), {**WIDE, "dtypes": ("float32", "bfloat16")}),
    "dense": (dense, {}),
    "fixed": (
        fixed,
        {**WIDE, "layout": "bnhd", "mask_true": "ignore", "masks": "binary", "dtypes": ("float32",)}
        | {"parameters": {"q_block": 24, "k_block": 16, "map": "hqk"}},
    ),
    "rows": (sparse_rows, WIDE),
    "packed": (block_sparse_attn_func, {**WIDE, "dtypes": ("float32",), "parameters": {"block": 16}}),
    "mask_mod": (by_mask_mod, {}),
}


@pytest.mark.parametrize("law", block_mask.LAWS, ids=lambda law: law.name)
def test_every_law_refutes_the_fault_it_names(law: block_mask.Law) -> None:
    refuted(law.name, getattr(faults, law.fault)(), "quick", contract=CONTRACT, **WIDE)


@pytest.mark.thorough(table=True, leave_out=named_faults(block_mask.LAWS, faults.FAULTY))
@pytest.mark.parametrize("fault", faults.FAULTY)
def test_every_fault_is_refuted(fault: Callable[..., Any]) -> None:
    if fault.__name__ in SEEN_BY:
        refuted(SEEN_BY[fault.__name__], fault(), "quick", contract=CONTRACT, **WIDE)
    else:
        assert first_refuting(fault(), CONTRACT, **WIDE) == block_mask.LAWS[0].name


@pytest.mark.thorough(leave_out=("steps", "fixed", "packed"))
@pytest.mark.parametrize("name", RIGHT)
def test_right_functions_conform(name: str) -> None:
    target, record = RIGHT[name]
    conforming(target, CONTRACT, "quick", 0, **record)
