"""Faulty targets of every other contract and correct ones of the same form, as a grader would name them.

Snippets are written for the faulty one and must fail on it; put on the correct one, the same program must pass.
"""

from __future__ import annotations

import torch

from attention_core.faults import (
    bias,
    cache_state,
    kv_cache,
    mask_builder,
    multi_head,
    position_table,
    rotary,
    split_merge_heads,
)
from attention_core.faults.bases import cache

split, faulty_merge = split_merge_heads.merge_without_permute()
faulty_split, merge = split_merge_heads.uneven_split_truncated()
correct_split, correct_merge = split_merge_heads.correct()


def correct_window(n_q: int, n_kv: int, W: int, align: str = "top_left") -> object:
    """{(i, j) : i - W < j <= i}."""
    i, j = mask_builder.positions(n_q, n_kv, align)
    return (i - W < j) & (j <= i)


def correct_padding(n_q: int, n_kv: int, lengths: object) -> object:
    """{(b, i, j) : j < lengths_b}."""
    return mask_builder.real_keys(n_q, n_kv, lengths)  # type: ignore[arg-type]


def make_causal_mask(n_tok: int) -> torch.Tensor:
    """True where j <= i."""
    return torch.ones(n_tok, n_tok, dtype=torch.bool).tril()


def attn_scaled(A: torch.Tensor, n_embd: int, n_heads: int) -> torch.Tensor:
    """A / sqrt(n_embd / n_heads)."""
    return A / (n_embd / n_heads) ** 0.5


modules, caches, leftovers = multi_head, kv_cache, cache_state
__all__ = ["bias", "cache", "caches", "leftovers", "modules", "position_table", "rotary"]
