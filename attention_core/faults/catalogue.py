"""The table of the catalogue: every fault of attention, and every correct target that only looks odd."""

from __future__ import annotations

from attention_core.faults import (
    backward,
    batch_invariance,
    beside_laws,
    bias,
    block_mask,
    cache_changes,
    cache_state,
    cache_windows,
    causality,
    cross_cache,
    dead_rows,
    dropout,
    features,
    gradients,
    heads_and_batch,
    indexer,
    known,
    kv_cache,
    latent_attention,
    linear_attention,
    linear_gradients,
    linear_texts,
    lse,
    mask_builder,
    mask_forms,
    masking,
    memory,
    merge,
    module_backward,
    multi_head_masks,
    multi_head_projections,
    online_softmax,
    packed_features,
    paged,
    position_table,
    positions,
    quantised,
    random_numbers,
    rotary,
    scores,
    shapes,
    split_merge_heads,
    state,
    stored_pages,
    tiles,
    topk_index,
    tree_mask,
    variant_attention,
    varlen,
)
from attention_core.faults import reduced as reductions
from attention_core.faults.odd import CORRECT
from attention_core.faults.row import Row

__all__ = ["CORRECT", "FAULTS", "named"]
SUBJECTS = (
    tiles, online_softmax, scores, masking, mask_forms, causality, dead_rows, heads_and_batch, shapes, memory,
    state, backward, gradients, random_numbers, dropout, lse, kv_cache, cache_state, cache_windows, cache_changes,
    mask_builder, rotary, bias,
    position_table, positions, split_merge_heads, multi_head_masks, multi_head_projections,
    module_backward, merge, varlen, paged, stored_pages, batch_invariance,
    features, packed_features, linear_attention, linear_texts, linear_gradients,
    quantised, block_mask, latent_attention,
    tree_mask, topk_index, indexer, variant_attention, cross_cache,
)  # fmt: skip
"""The files that list their own faults."""
FAULTS: tuple[Row, ...] = (
    *known.ROWS, *reductions.ROWS, *(row for subject in SUBJECTS for row in subject.ROWS), *beside_laws.ROWS,
)  # fmt: skip


def named(name: str) -> Row:
    """The row of a name.

    Raises: KeyError for an unknown one.
    """
    return {row.name: row for row in FAULTS}[name]
