"""torchscale."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from torch import Tensor, nn


class MultiHead(nn.Module):
    """MultiheadAttention without relative positions."""

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        from torchscale.component.multihead_attention import MultiheadAttention

        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("heads do not divide")
        chosen = SimpleNamespace(multiway=False, xpos_rel_pos=False, layernorm_eps=1e-5)
        self.attention = MultiheadAttention(chosen, embed_dim, num_heads, self_attention=True)

    def forward(self, x: Tensor, attn_mask: Tensor | None = None) -> Any:
        """Attend to the input itself; the mask is added to the scores."""
        return self.attention(x, x, x, attn_mask=attn_mask)[0]
