"""The list of real faults, each with the faults that stand for it; those written beside the laws are named here.

Names are those under which the faults are listed by their threads; `NOT_REDUCIBLE` says which have no fault, and why.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from attention_core.faults import (
    bias,
    cache_state,
    causality,
    dead_rows,
    dropout,
    gradients,
    heads_and_batch,
    kv_cache,
    lse,
    mask_builder,
    mask_forms,
    masking,
    memory,
    model_forms,
    module_forms,
    multi_head,
    numerics,
    position_table,
    refusal,
    rotary,
    seed_attention,
    seed_steps,
    shapes,
    split_merge_heads,
    state,
    value,
)
from attention_core.faults.row import Row, row

IGNORED: dict[str, Any] = {"masked_nan": "ignored"}
BOTTOM: dict[str, Any] = {"causal": "bottom_right"}
WINDOW: dict[str, Any] = {"parameters": {"window": 4}}
CONTRACTS: dict[ModuleType, dict[str, Any]] = {
    kv_cache: {"contract": "kv-cache", "direct": True, "accumulate": "float32"},
    cache_state: {"contract": "kv-cache", "direct": True, "accumulate": "float32", "prefix": "kv_cache"},
    mask_builder: {"contract": "mask-builder", "direct": True},
    seed_attention: {"contract": "self-attention", "direct": True},
    seed_steps: {"contract": "self-attention-steps", "direct": True},
    module_forms: {"contract": "multi-head", "direct": True},
    model_forms: {"contract": "multi-head", "direct": True, "prefix": "module_forms"},
    multi_head: {"contract": "multi-head", "direct": True, "parameters": {"weights_flag": "need_weights"}},
    rotary: {"contract": "rotary", "direct": True, "parameters": {"positions": "batched"}},
    bias: {"contract": "bias", "direct": True},
    position_table: {"contract": "position-table", "direct": True},
    split_merge_heads: {"contract": "heads"},
    lse: {"contract": "attention-lse", "returns": "out,lse"},
}
"""What every fault of a file declares."""

KNOWN: tuple[tuple[str, ModuleType, str, dict[str, Any]], ...] = (
    # 1 masking
    ("NaN/inf leaks from masked key or value", masking, "nan_leaks_through_zero_weight", IGNORED),
    ("NaN/inf leaks from masked key or value", masking, "nan_leaks_in_backward", IGNORED),
    ("dead row -> NaN forward", dead_rows, "dead_rows_are_nan", {}),
    ("dead row -> arbitrary finite output", dead_rows, "dead_rows_are_means", {}),
    ("dead row: forward patched, gradient NaN", dead_rows, "dead_rows_patched_in_forward_only", {}),
    ("dead row differs between paths", dead_rows, "dead_rows_are_nan_for_float_masks", {}),
    ("is_causal ignored on weights path", multi_head, "causal_lost_on_the_weights_path", {}),
    ("causal skipped without user mask", causality, "causal_needs_a_mask", {}),
    ("causal skipped without user mask", multi_head, "causal_needs_a_mask", {}),
    ("additive mask cast to bool -> inverted", masking, "additive_mask_cast_to_bool", {}),
    ("bool polarity reversed", masking, "polarity_reversed", {}),
    ("bool polarity reversed", multi_head, "mask_polarity_reversed", {}),
    ("mask after softmax, no renormalise", masking, "mask_after_softmax", {}),
    ("mask after softmax, no renormalise", multi_head, "mask_after_softmax", {}),
    ("mask after softmax WITH renormalise", masking, "mask_after_softmax_renormalised", {}),
    ("wrong-sign infinity", masking, "wrong_sign_infinity", {}),
    ("-inf fill after softmax", masking, "infinity_after_softmax", {}),
    ("out-of-place result discarded", masking, "masked_fill_discarded", {}),
    ("out-of-place result discarded", multi_head, "masked_scores_discarded", {}),
    ("padding not masked at all in batch", masking, "mask_ignored", {}),
    ("padding not masked at all in batch", mask_builder, "padded_to_the_longest", {}),
    ("key lengths ignored", mask_builder, "lengths_ignored", {}),
    ("mask batch axis broadcast onto heads", mask_forms, "batch_axis_taken_for_heads", {}),
    ("mask batch axis broadcast onto heads", multi_head, "mask_of_sequences_on_heads", {}),
    ("query-side mask used for context", mask_forms, "query_mask_used_for_keys", {}),
    ("packed-segment mask dropped", mask_builder, "segments_dropped", {}),
    ("packed-segment mask dropped", mask_builder, "causal_over_the_whole_row", {}),
    # 2 causality and alignment
    ("top-left causal for n_q<n_kv", causality, "aligned_top_left", BOTTOM),
    ("causal wrong for qlen!=klen, verifier reused same mask", causality, "offset_of_one_too_few", BOTTOM),
    ("square mask reused with cache", kv_cache, "square_mask_with_cache", {}),
    ("square mask reused with cache", causality, "chunk_treated_as_square", BOTTOM),
    ("decoder not causal after mask refactor", multi_head, "causal_flag_dropped", {}),
    ("causal flag never forwarded", causality, "causality_ignored", {}),
    # 3 scaling and logits
    ("scale by d_model", value, "scale_by_model_width", {}),
    ("scale by d_model", multi_head, "scaled_by_model_size", {}),
    ("scale argument ignored", value, "scale_ignored", {}),
    # 4 softmax numerics
    ("softmax over queries", heads_and_batch, "softmax_over_queries", {}),
    ("softmax over fixed dim", heads_and_batch, "softmax_over_heads", {}),
    ("no max subtraction", numerics, "no_max_subtraction", {}),
    ("fill value not representable / too weak", masking, "fill_1e9", {}),
    ("fill value not representable / too weak", masking, "additive_fill_1e4", {}),
    ("sum of two finfo.min masks overflows", dead_rows, "two_lowest_numbers_added", {}),
    ("masked value comes back to life", masking, "masked_score_comes_back", {}),
    ("f64 fill cast to f32", numerics, "float32_inside_float64", {}),
    # 5 low precision
    ("softmax in fp16", numerics, "scores_rounded_to_input", {"accumulate": "float32"}),
    ("RoPE positions/phases in half", rotary, "phases_in_half_precision", {}),
    ("RoPE positions/phases in half", rotary, "positions_in_half_precision", {}),
    # 6 heads and reshapes
    ("split by view, no transpose", split_merge_heads, "split_by_view", {}),
    ("split by view, no transpose", multi_head, "split_by_view", {}),
    ("merge without permute", split_merge_heads, "merge_without_permute", {}),
    ("merge without permute", multi_head, "merge_without_permute", {}),
    ("merge mixes batch and head", split_merge_heads, "merge_mixes_batch_and_heads", {}),
    ("merge mixes batch and head", multi_head, "batch_and_heads_mixed", {}),
    ("batch_first reshape wrong", heads_and_batch, "sequence_first_by_view", {}),
    ("view instead of transpose to sequence-first", multi_head, "sequence_first_by_view", {}),
    # 7 grouped queries
    ("tile instead of repeat_interleave", heads_and_batch, "tiled_keys", {}),
    ("repeat on sequence axis", heads_and_batch, "repeated_along_the_sequence", {}),
    # 8 positions
    ("ALiBi slopes, H not a power of 2", bias, "slopes_geometric", {}),
    ("ALiBi slope exponent off by one", bias, "slopes_off_by_one", {}),
    ("ALiBi sign flipped", bias, "sign_flipped", {}),
    ("ALiBi vanishes when decoding", bias, "bias_built_over_query_length", {}),
    ("RoPE mixed pairings", rotary, "mixed_pairings", {}),
    ("partial RoPE sliced on wrong axis", rotary, "positions_along_heads", {}),
    ("RoPE table cache key omits offset", rotary, "table_cached_without_offset", {"factory": True}),
    ("RoPE offset by alias mutates", rotary, "offset_counted_in_place", {}),
    ("RoPE offset by alias mutates", rotary, "offset_moved_before_use", {}),
    ("left-pad positions shared", rotary, "positions_of_the_first_sequence", {}),
    ("sinusoid exponent 2*j by column", position_table, "exponent_by_column", {}),
    ("sinusoid odd d", position_table, "even_sizes_only", {}),
    ("sinusoid odd d", position_table, "odd_sizes_one_wider", {}),
    # 9 dropout
    ("dropout active in eval", state, "drops_in_evaluation", {}),
    ("eval zeroes p for ever", state, "dropout_lost_in_evaluation", {}),
    ("successive masks identical", dropout, "the_same_mask_every_call", {}),
    ("returned weights are post-dropout", dropout, "returns_dropped_weights", {"returns": "out,weights"}),
    # 10 backward
    ("backward uses stale first KV chunk", gradients, "stale_first_chunk", {}),
    ("non-zero grads for zero cotangent", gradients, "uninitialised_query_gradient", {}),
    ("NaN bwd only when bias and mask combined", gradients, "nan_with_bias_and_causal", {}),
    ("bwd assumes Ev==E", gradients, "value_gradient_of_head_size", {}),
    # 11 shapes, strides, edges
    ("non-contiguous q/k/v", memory, "strides_ignored", {}),
    ("non-contiguous q/k/v", memory, "strides_ignored_at_full_blocks", {}),
    ("zero-sized input crash/NaN", shapes, "softmax_of_no_keys", {}),
    ("zero-sized input crash/NaN", shapes, "no_keys_crash", {}),
    ("head_dim pad uninitialised", shapes, "head_size_padded_with_garbage", {}),
    # 12 caches
    ("offset grows by prompt twice", kv_cache, "offset_grows_by_the_prompt_twice", {}),
    ("offset from head axis", kv_cache, "offset_from_the_head_axis", {}),
    ("offset from head axis", causality, "offset_from_head_axis", BOTTOM),
    ("offset = retained rows after eviction", kv_cache, "offset_is_what_is_kept", WINDOW),
    ("stale slot position on reuse", cache_state, "position_not_reset", {}),
    ("mask length vs windowed cache", kv_cache, "mask_not_cropped_to_what_is_kept", WINDOW),
    ("causal mask sized by first call", state, "causal_sized_by_the_first_call", {}),
    ("causal mask sized by first call", mask_builder, "mask_built_once", {"factory": True}),
    ("KV page beyond a size skipped", kv_cache, "pages_beyond_a_size_skipped", {}),
    ("KV page beyond a size skipped", value, "second_block_skipped", {}),
    # 13 variants
    ("window W+1", mask_builder, "window_one_wider", {}),
    ("window W+1", kv_cache, "window_one_wider", WINDOW),
    ("Mistral mask triu(-W)", mask_builder, "window_by_triu", {}),
    ("negative window = full attention", mask_builder, "negative_window_is_everything", {}),
    ("exclusive decay exp overflow", numerics, "bias_as_factor", {}),
    ("LSE base 2 merged as base e", lse, "base_two", {}),
    # 14 chance
    ("forward race", state, "forward_race", {}),
    ("backward atomics", state, "backward_race", {}),
    # 15 the door
    ("block mask length not checked", refusal, "long_mask_cut", {}),
    ("head_dim truncated", split_merge_heads, "uneven_split_truncated", {}),
    ("head_dim truncated", refusal, "head_size_cut_to_shorter", {}),
    ("attn output unused", multi_head, "attention_unused", {}),
)

NOT_REDUCIBLE = {
    "softcap dropped": (
        "where a signature names a cap, that is the row features.cap_ignored; where none does, a cap that nothing asks "
        "for is value.softcap_always"
    ),
    "wrong grads, batch>=2, real activations": "a fault of one processor, without a line of code to change",
}
"""Real faults without a fault."""


def known(bug: str, file: ModuleType, target: str, record: dict[str, Any]) -> Row:
    """The row of a fault that was written beside its law."""
    declared = {**CONTRACTS.get(file, {}), **record}
    if file is mask_builder:
        (kind,) = (name for name, all_of in mask_builder.KINDS.items() if getattr(file, target) in all_of)
        declared["parameters"] = {"kind": kind}
    return row(getattr(file, target), "real", "law", bug=bug, **declared)


ROWS = tuple(known(*entry) for entry in KNOWN)
