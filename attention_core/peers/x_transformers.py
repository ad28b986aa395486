"""Attention and positions of x-transformers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


def of_pairs(mask: Tensor | None) -> Tensor | None:
    """A mask with axes of sequences and heads: the library takes one of two axes for (B, n_kv)."""
    return mask[None, None] if mask is not None and mask.ndim == 2 else mask


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Any:
    """Attend, unfused."""
    from x_transformers.attend import Attend

    return Attend(causal=False).eval()(query, key, value, of_pairs(mask))[0]


def flash(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Any:
    """Attend on torch's fused attention."""
    from x_transformers.attend import Attend

    return Attend(flash=True).eval()(query, key, value, of_pairs(mask))[0]


def causal(query: Tensor, key: Tensor, value: Tensor) -> Any:
    """Attend, unfused and causal."""
    from x_transformers.attend import Attend

    return Attend(causal=True).eval()(query, key, value)[0]


def causal_flash(query: Tensor, key: Tensor, value: Tensor) -> Any:
    """Attend, causal, on torch's fused attention."""
    from x_transformers.attend import Attend

    return Attend(causal=True, flash=True).eval()(query, key, value)[0]


class MultiHead(nn.Module):
    """Attention with its projections."""

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        from x_transformers.x_transformers import Attention

        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("heads do not divide")
        self.attention = Attention(embed_dim, dim_head=embed_dim // num_heads, heads=num_heads)

    def forward(self, x: Tensor) -> Any:
        """Attend to the input itself."""
        return self.attention(x)


def rotary(x: Tensor, positions: Tensor) -> Any:
    """RotaryEmbedding and apply_rotary_pos_emb."""
    from x_transformers.x_transformers import RotaryEmbedding, apply_rotary_pos_emb

    freqs, _ = RotaryEmbedding(x.shape[-1])(positions)
    return apply_rotary_pos_emb(x, freqs)


def alibi(H: int, n_q: int, n_kv: int) -> Any:
    """AlibiPositionalBias."""
    from x_transformers.x_transformers import AlibiPositionalBias

    return AlibiPositionalBias(H)(n_q, n_kv)


def table(n: int, d: int) -> Any:
    """ScaledSinusoidalEmbedding, its learned scale at 1."""
    from x_transformers.x_transformers import ScaledSinusoidalEmbedding

    embedding = ScaledSinusoidalEmbedding(d)
    with torch.no_grad():
        embedding.scale.fill_(1.0)
        return embedding(torch.zeros(1, n, d))
