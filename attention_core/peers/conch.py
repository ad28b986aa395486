"""Kernels in Triton of conch-triton-kernels."""

from __future__ import annotations

import torch
from torch import Tensor

from attention_core.peers.triton_calls import ends_of


def paged_attention(
    query: Tensor, key_pages: Tensor, value_pages: Tensor, block_table: Tensor, cache_seqlens: Tensor,
    softmax_scale: float | None = None,
) -> Tensor:  # fmt: skip
    """conch's paged attention: one token a text, query (B, H, d)."""
    from conch.ops.attention.paged_attention import paged_attention as attend

    return attend(query, key_pages, value_pages, block_table, cache_seqlens, scale=softmax_scale)


def varlen(
    query: Tensor, key_pages: Tensor, value_pages: Tensor, block_table: Tensor, cache_seqlens: Tensor,
    causal: bool = False, softmax_scale: float | None = None,
) -> Tensor:  # fmt: skip
    """conch's attention of packed texts to keys in pages."""
    from conch.ops.attention.varlen_attention import varlen_attention

    out = varlen_attention(
        query.flatten(0, 1), key_pages, value_pages, ends_of(query), query.shape[1], cache_seqlens,
        int(cache_seqlens.max()) if len(cache_seqlens) else 0, block_table, causal=causal, scale=softmax_scale,
    )  # fmt: skip
    return out.view(query.shape)


def unified_attention(
    query: Tensor, key_pages: Tensor, value_pages: Tensor, block_table: Tensor, cache_seqlens: Tensor,
    softmax_scale: float | None = None,
) -> Tensor:  # fmt: skip
    """vLLM's unified attention, as conch ships it; always causal."""
    from conch.third_party.vllm.unified_attention import unified_attention as attend

    packed = query.flatten(0, 1).contiguous()
    out = torch.empty_like(packed)
    scale = query.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
    longest = int(cache_seqlens.max()) if len(cache_seqlens) else 0
    attend(
        packed, key_pages, value_pages, out, ends_of(query), query.shape[1], cache_seqlens, longest, scale, True,
        (-1, -1), block_table, 0.0, None, None, None,
    )  # fmt: skip
    return out.view(query.shape)
