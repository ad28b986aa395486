"""Power and false alarms of the laws of indices: each refutes its fault, every fault is refuted, right ones conform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from judging_contracts import power_tests
from torch import Tensor

from attention_core.conformance.laws import topk_index
from attention_core.faults import topk_index as faults
from attention_core.kernels.indexed import indexed_attention

WIDE: dict[str, Any] = {"accumulate": "float32"}
GRADIENTS = "gradients_through_indices_are_true"
SEEN_BY = {  # what no law but these is sure to see
    "indices_taken_for_ascending": "the_order_of_indices_is_free",
    "sixteen_indices_at_most": "indices_of_all_keys_are_plain_attention",
    "indices_beyond_a_block_left_out": "indices_of_all_keys_are_plain_attention",
    "indices_of_the_query_head": "heads_and_sequences_have_their_own_indices",
    "first_indices_kept": "other_indices_of_the_same_shape_are_read_anew",
    "indices_read_in_order": "strides_of_indices_are_followed",
    "one_maximum_for_a_group": "heads_and_sequences_have_their_own_indices",
    "row_of_the_indices_written_into": "strides_of_indices_are_followed",
    "rows_behind_the_row_of_indices": "strides_of_indices_are_followed",
    "written_into_the_indices": "padding_names_no_key",
    "padding_is_the_last_key": "padding_names_no_key",
    "padding_is_the_first_key": "padding_names_no_key",
    "rows_end_at_their_first_padding": "padding_names_no_key",
    "padding_keeps_a_weight": "padding_names_no_key",
    "indices_beyond_are_the_last_key": "indices_beyond_the_keys_name_none",
    "repeated_indices_count_twice": "an_index_that_is_named_twice_counts_once",
    "counts_ignored": "counts_end_rows_of_indices",
    "other_keys_weigh_little": "keys_that_no_index_names_do_not_matter",
    "maximum_not_subtracted": "large_scores_of_named_keys_stay_numbers",
    "rows_without_an_index_are_nan": "rows_without_an_index_are_as_declared",
    "rows_without_an_index_are_means": "rows_without_an_index_are_as_declared",
    "causality_ignored": "later_keys_of_a_causal_call_are_left_out",
    "causality_by_place": "later_keys_of_a_causal_call_are_left_out",
    "given_scale_ignored": "a_scale_that_is_given_counts_beside_indices",
    "scale_of_zero_taken_for_none": "a_scale_that_is_given_counts_beside_indices",
    "gradients_overwritten": GRADIENTS,
    "gradients_of_padding_scattered": GRADIENTS,
    "last_of_four_reads_the_next_indices": "heads_and_sequences_have_their_own_indices",
}
FLOAT: dict[str, Any] = {"dtypes": ("float32",)}


def by_blocks(q: Tensor, k: Tensor, v: Tensor, block_indices: Tensor, block_counts: Tensor, block_size: int) -> Tensor:
    """Blocks of keys and their numbers, tokens before heads, as in flash-linear-attention's selected attention."""
    q, k, v, rows = (x.transpose(1, 2) for x in (q, k, v, block_indices))
    counted = torch.arange(rows.shape[-1]) < block_counts.transpose(1, 2)[..., None]
    blocks = torch.where(counted, rows, -1)
    keys = blocks[..., None] * block_size + torch.arange(block_size)
    keys = torch.where((blocks[..., None] >= 0) & (keys < k.shape[2]), keys, -1).flatten(-2)
    out: Tensor = faults.build()(q, k, v, keys)
    return out.transpose(1, 2)


def sparse_mla_fwd(q: Tensor, kv: Tensor, indices: Tensor, sm_scale: float | None = None, d_v: int = 16) -> Any:
    """tilelang's form: values are the first features of keys; a log-sum-exp comes second."""
    assert indices.dtype == torch.int32
    q, kv, rows = (x.transpose(1, 2) for x in (q, kv, indices))
    out: Tensor = faults.build()(q, kv, kv[..., :d_v], rows, False, sm_scale)
    return out.transpose(1, 2), out[..., 0]


def flash_mla_sparse_fwd(
    q: Tensor, kv: Tensor, indices: Tensor, sm_scale: float, d_v: int = 16, topk_length: Tensor | None = None
) -> Any:
    """FlashMLA's call: one sequence, indices of n_kv and more name no key, numbers of indices for all heads."""
    assert q.ndim == kv.ndim == indices.ndim == 3
    rows = (
        indices
        if topk_length is None
        else torch.where(torch.arange(indices.shape[-1]) < topk_length[:, None, None], indices, -1)
    )
    rows = torch.where(rows >= len(kv), -1, rows)[None]
    return tuple(x[0] for x in sparse_mla_fwd(q[None], kv[None], rows, sm_scale, d_v))


def shared_rows(q: Tensor, k: Tensor, v: Tensor, I: Tensor) -> Tensor:  # noqa: E741
    """One row (B, n_q, topk) for all heads, always causal, in the dtype of the inputs; equal heads alone."""
    if q.shape[1] != k.shape[1]:
        raise ValueError("heads differ")
    pairs = torch.zeros(len(q), q.shape[2], k.shape[2] + 1, dtype=torch.bool)
    pairs = pairs.scatter(2, torch.where(I < 0, k.shape[2], I), True)[..., :-1].tril()[:, None]
    scores = (q @ k.mT * q.shape[-1] ** -0.5).masked_fill(~pairs, -torch.inf)
    return scores.softmax(-1).nan_to_num(0.0) @ v


def rows_of_query_heads(q: Tensor, k: Tensor, v: Tensor, topk_idx: Tensor) -> Tensor:
    """Every query head has rows of its own."""
    group = q.shape[1] // k.shape[1]
    out: Tensor = faults.by_mask()(q, k.repeat_interleave(group, 1), v.repeat_interleave(group, 1), topk_idx)
    return out


RIGHT: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "kernel": (indexed_attention, WIDE),
    "steps": (faults.build(), {**WIDE, "masked_nan": "ignored", "dtypes": ("float32", "bfloat16")}),
    "by_mask": (faults.by_mask(), {**WIDE, "parameters": {"beyond": "padding", "repeats": "once"}}),
    "blocks": (by_blocks, {**WIDE, **FLOAT, "layout": "bnhd"}),
    "tilelang": (sparse_mla_fwd, {**WIDE, **FLOAT}),
    "flashmla": (flash_mla_sparse_fwd, {**WIDE, **FLOAT, "parameters": {"beyond": "padding"}}),
    "shared": (shared_rows, {**FLOAT, "always_causal": True, "parameters": {"index_axes": "bqk"}}),
    "query_heads": (rows_of_query_heads, {**WIDE, **FLOAT, "parameters": {"index_heads": "query"}}),
}


(
    test_every_law_refutes_the_fault_it_names,
    test_every_fault_is_refuted,
    test_right_functions_conform,
) = power_tests(topk_index, faults, RIGHT, SEEN_BY, **WIDE)


def test_wrong_indices_are_all_wrong_somewhere() -> None:
    """A null model that is never wrong would count as power that no case can have."""
    x = np.zeros((2, 2, 3, 1))
    rows = np.stack([np.random.default_rng(seed).permutation(20)[:18] for seed in range(12)]).reshape(2, 2, 3, 18)
    rows[..., 3] = -1
    call = topk_index.IndexedCall(x, x.repeat(7, 2), x.repeat(7, 2), rows)
    assert not [name for name, other in topk_index.wrong_indices(call).items() if (other == rows).all()]
