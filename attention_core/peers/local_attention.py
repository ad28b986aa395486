"""local-attention."""

from __future__ import annotations

from typing import Any

from torch import Tensor


def rotary(x: Tensor, positions: Tensor) -> Any:
    """SinusoidalEmbeddings and apply_rotary_pos_emb."""
    from local_attention.rotary import SinusoidalEmbeddings, apply_rotary_pos_emb

    rows = int(positions.max()) + 1 if len(positions) else 1
    table, scale = SinusoidalEmbeddings(x.shape[-1])(x.new_empty(rows, x.shape[-1]))
    return apply_rotary_pos_emb(x, x, table[positions], scale)[0]


def window_attention(query: Tensor, key: Tensor, value: Tensor, window: int | None = None) -> Any:
    """LocalAttention, causal, each query with the window's keys before it and itself, any length."""
    from local_attention import LocalAttention

    if window is None or query.shape != key.shape or key.shape[:-1] != value.shape[:-1]:
        raise ValueError("self-attention under a window")
    layer = LocalAttention(window, causal=True, exact_windowsize=True, autopad=True, use_rotary_pos_emb=False)
    return layer(query, key, value)
