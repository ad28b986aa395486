"""memory-efficient-attention-pytorch."""

from __future__ import annotations

from typing import Any

from torch import Tensor


def plain(query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False) -> Any:
    """attention, which it compares its others with."""
    from memory_efficient_attention_pytorch.memory_efficient_attention import attention

    return attention(query, key, value, causal=is_causal)


def chunks(query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False) -> Any:
    """memory_efficient_attention with chunks of 8 queries and 16 keys."""
    from memory_efficient_attention_pytorch.memory_efficient_attention import memory_efficient_attention

    return memory_efficient_attention(query, key, value, causal=is_causal, q_bucket_size=8, k_bucket_size=16)


def flash(query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False) -> Any:
    """FlashAttentionFunction with tiles of 8 queries and 16 keys."""
    from memory_efficient_attention_pytorch.flash_attention import FlashAttentionFunction

    return FlashAttentionFunction.apply(query, key, value, None, is_causal, 8, 16)
