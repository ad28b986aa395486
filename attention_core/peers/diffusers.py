"""Attention and positions of diffusers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class MultiHead(nn.Module):
    """Attention with its default processor."""

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        from diffusers.models.attention_processor import Attention

        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("heads do not divide")
        self.attention = Attention(embed_dim, heads=num_heads, dim_head=embed_dim // num_heads, bias=True)

    def forward(self, x: Tensor) -> Any:
        """Attend to the input itself."""
        return self.attention(x)


def rotary(x: Tensor, positions: Tensor) -> Any:
    """get_1d_rotary_pos_embed and apply_rotary_emb."""
    from diffusers.models.embeddings import apply_rotary_emb, get_1d_rotary_pos_embed

    cos, sin = get_1d_rotary_pos_embed(x.shape[-1], positions, use_real=True)
    return apply_rotary_emb(x, (cos, sin))


def table(n: int, d: int) -> Any:
    """get_timestep_embedding of 0, 1, 2, ..."""
    from diffusers.models.embeddings import get_timestep_embedding

    return get_timestep_embedding(torch.arange(n), d, downscale_freq_shift=0)
