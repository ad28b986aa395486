"""ring-attention-pytorch, as one process runs it."""

from __future__ import annotations

from typing import Any

from torch import Tensor


def plain(query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False) -> Any:
    """default_attention, (B, n, H, d)."""
    from ring_attention_pytorch.ring_attention import default_attention

    return default_attention(query, key, value, causal=is_causal)


def flash(query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False) -> Any:
    """ring_flash_attn with buckets of 8, (B, n, H, d)."""
    from ring_attention_pytorch import ring_flash_attn

    return ring_flash_attn(query, key, value, causal=is_causal, bucket_size=8)


def rotary(x: Tensor, positions: Tensor) -> Any:
    """RingRotaryEmbedding and apply_rotary_pos_emb."""
    from ring_attention_pytorch.ring_attention import RingRotaryEmbedding, apply_rotary_pos_emb

    return apply_rotary_pos_emb(RingRotaryEmbedding(x.shape[-1])(positions), x, head_dim_first=True)
