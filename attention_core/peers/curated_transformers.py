"""curated-transformers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def scorer(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, is_causal: bool = False) -> Any:
    """ScaledDotProductAttention, unfused; its masks are bool."""
    from curated_transformers.layers.attention import AttentionMask, ScaledDotProductAttention

    B, n_q, n_kv = query.shape[0], query.shape[-2], key.shape[-2]
    given = torch.ones(B, 1, n_q, n_kv, dtype=torch.bool) if mask is None else mask
    layer = ScaledDotProductAttention(dropout_prob=0.0, linear_biases=None).eval()
    if given.ndim != 4 or given.shape[1] != 1:
        raise ValueError("masks are (B, 1, n_q, n_kv)")
    return layer(query=query, key=key, value=value, attention_mask=AttentionMask(given), use_causal_mask=is_causal)


def rotary(x: Tensor, positions: Tensor) -> Any:
    """RotaryEmbeddings."""
    from curated_transformers.layers import RotaryEmbeddings

    flat = x.reshape(-1, *x.shape[-3:])
    at_place = positions.expand(len(flat), -1).contiguous()
    return RotaryEmbeddings(x.shape[-1])(flat, positions=at_place).reshape(x.shape)


def alibi(H: int, n_q: int, n_kv: int) -> Any:
    """AttentionLinearBiases of a model that is not causal, whose last rows are the queries'."""
    from curated_transformers.layers.attention import AttentionLinearBiases

    if n_q > n_kv:
        raise ValueError("more queries than keys")
    biases = AttentionLinearBiases(n_attention_heads=H, is_causal=False, is_inverted=False).calculate_biases(n_kv)
    return biases[0, :, n_kv - n_q :]


def table(n: int, d: int) -> Any:
    """SinusoidalPositionalEmbedding, not normalised."""
    from curated_transformers.layers import SinusoidalPositionalEmbedding

    return SinusoidalPositionalEmbedding(width=d, max_len=n, normalize=False)(torch.zeros(1, n))
