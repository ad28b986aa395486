"""Power and false alarms of the laws of trees: each refutes its fault, every fault is refuted, right ones conform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from judging_contracts import power_tests
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attention_core.conformance.laws import tree_mask
from attention_core.faults import tree_mask as faults
from attention_core.kernels.tree import tree_attention

WIDE: dict[str, Any] = {"accumulate": "float32"}
SEEN_BY = {  # what no law but these is sure to see
    "tokens_beyond_32_unseen": "trees_of_many_tokens_are_read_whole",
    "tokens_beyond_64_wrap": "trees_of_many_tokens_are_read_whole",
    "eight_ancestors_at_most": "deep_branches_reach_their_root",
    "first_token_is_everyones_root": "roots_have_no_ancestor",
    "tree_read_in_order": "strides_of_a_tree_are_followed",
    "trees_behind_the_first": "strides_of_a_tree_are_followed",
    "other_branches_weigh_little": "other_branches_do_not_matter",
    "blocks_below_the_diagonal_unmasked": "the_tree_holds_behind_a_context_of_any_length",
    "maximum_of_the_context_alone": "large_scores_in_a_tree_stay_numbers",
    "key_heads_in_turn": "query_heads_share_key_heads_in_a_tree",
    "given_scale_ignored": "a_scale_that_is_given_counts_in_a_tree",
    "scale_of_zero_taken_for_none": "a_scale_that_is_given_counts_in_a_tree",
    "key_heads_of_large_groups_in_turn": "query_heads_share_key_heads_in_a_tree",
}
FLOAT: dict[str, Any] = {"dtypes": ("float32",)}


def attend(q: Tensor, k: Tensor, v: Tensor, tree: Tensor) -> Tensor:
    """Attention under a mask (B, n, n) of the last keys, in the dtype of the inputs; equal heads alone."""
    if q.shape[1] != k.shape[1]:
        raise ValueError("heads differ")
    seen = torch.cat([tree.new_ones(*tree.shape[:2], k.shape[2] - q.shape[2]), tree], -1)
    return (q @ k.mT * q.shape[-1] ** -0.5).masked_fill(~seen[:, None], -torch.inf).softmax(-1) @ v


def by_medusa(q: Tensor, k: Tensor, v: Tensor, medusa_mask: Tensor) -> Tensor:
    """Tokens before heads, a mask (B, 1, n, n) of 1 and 0."""
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    return attend(q, k, v, medusa_mask[:, 0] == 1).transpose(1, 2)


def by_bias(q: Tensor, k: Tensor, v: Tensor, tree_attn_bias: Tensor, sm_scale: float | None = None) -> Tensor:
    """vLLM's form: one bias (n, n) for all sequences."""
    bias = torch.nn.functional.pad(tree_attn_bias, (k.shape[2] - q.shape[2], 0))
    return scaled_dot_product_attention(q, k, v, bias, scale=sm_scale, enable_gqa=q.shape[1] != k.shape[1])


def by_hidden(q: Tensor, k: Tensor, v: Tensor, M: Tensor) -> Tensor:
    """One mask for all sequences that hides where it is True."""
    return attend(q, k, v, ~M.expand(len(q), *M.shape))


def by_bits(
    q: Tensor, k: Tensor, v: Tensor, spec_decoding_packed_mask: Tensor, k_cache: Tensor, v_cache: Tensor,
    prefix_lens: Tensor,
) -> Tensor:  # fmt: skip
    """Numbers of 32 bits, and the context of every sequence apart, padded to the longest."""
    n, longest = q.shape[2], k_cache.shape[2]
    bits = spec_decoding_packed_mask[..., None] >> torch.arange(32, dtype=torch.int32) & 1
    tree = bits.flatten(-2)[..., :n].bool()
    context = torch.arange(longest) < prefix_lens[:, None]
    seen = torch.cat([context[:, None].expand(-1, n, -1), tree], -1)[:, None]
    k, v = torch.cat([k_cache, k], 2), torch.cat([v_cache, v], 2)
    return scaled_dot_product_attention(q, k, v, seen, enable_gqa=q.shape[1] != k.shape[1])


def by_lengths(q: Tensor, k: Tensor, v: Tensor, parents: Tensor, seq_lens: Tensor) -> Tensor:
    """The lengths of sequences count their draft tokens."""
    return tree_attention(q, k, v, parents, context_lens=seq_lens - q.shape[2])


def single_prefill_with_kv_cache(
    q: Tensor, k: Tensor, v: Tensor, custom_mask: Tensor | None = None, causal: bool = False, kv_layout: str = "NHD",
    sm_scale: float | None = None,
) -> Tensor:  # fmt: skip
    """FlashInfer's call: one sequence."""
    assert kv_layout == "NHD" and custom_mask is not None and not causal
    q, k, v = (x.transpose(0, 1)[None] for x in (q, k, v))
    grouped = q.shape[1] != k.shape[1]
    return scaled_dot_product_attention(q, k, v, custom_mask, scale=sm_scale, enable_gqa=grouped)[0].transpose(0, 1)


def by_packed_bytes(q: Tensor, k: Tensor, v: Tensor, packed_custom_mask: Tensor, kv_layout: str = "NHD") -> Tensor:
    """FlashInfer's packed mask: bits of all pairs, row behind row, the lowest first."""
    pairs = np.unpackbits(packed_custom_mask.numpy(), bitorder="little")[: len(q) * len(k)]
    return single_prefill_with_kv_cache(q, k, v, torch.tensor(pairs).view(len(q), len(k)).bool())


RIGHT: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "kernel": (tree_attention, WIDE),
    "steps": (faults.build(), {**WIDE, "masked_nan": "ignored"}),
    "by_mask": (faults.by_mask(), {**WIDE, "dtypes": ("float32", "bfloat16")}),
    "medusa": (by_medusa, {**FLOAT, "layout": "bnhd", "masks": "binary"}),
    "bias": (by_bias, FLOAT),
    "hidden": (by_hidden, {**FLOAT, "mask_true": "ignore", "parameters": {"tree_axes": "qk"}}),
    "bits": (by_bits, FLOAT),
    "lengths": (by_lengths, {**WIDE, **FLOAT}),
    "flashinfer": (single_prefill_with_kv_cache, FLOAT),
    "bytes": (by_packed_bytes, FLOAT),
}


(
    test_every_law_refutes_the_fault_it_names,
    test_every_fault_is_refuted,
    test_right_functions_conform,
) = power_tests(tree_mask, faults, RIGHT, SEEN_BY, **WIDE)


def test_wrong_trees_are_all_wrong_somewhere() -> None:
    """A null model that is never wrong would count as power that no case can have."""
    tree = tree_mask.TreeCall(
        np.zeros((2, 1, 5, 1)), np.zeros((2, 1, 7, 1)), np.zeros((2, 1, 7, 1)),
        np.array([[-1, 0, 0, 1, -1], [-1, 0, 1, 1, 0]]), np.array([2, 1]),
    )  # fmt: skip
    assert not [name for name, other in tree_mask.wrong_trees(tree).items() if (other == tree.ancestors).all()]
