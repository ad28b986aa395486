"""torchtune."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn


def rotary(x: Tensor, positions: Tensor) -> Any:
    """RotaryPositionalEmbeddings, (B, n, H, d)."""
    from torchtune.modules import RotaryPositionalEmbeddings

    flat = x.reshape(-1, *x.shape[-3:])
    rows = int(positions.max()) + 1 if len(positions) else 1
    turned = RotaryPositionalEmbeddings(x.shape[-1], max(rows, 1))(flat, input_pos=positions.expand(len(flat), -1))
    return turned.reshape(x.shape)


class MultiHead(nn.Module):
    """MultiHeadAttention without positions, not causal."""

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        from torchtune.modules import MultiHeadAttention

        super().__init__()
        q_proj, k_proj, v_proj, out_proj = (nn.Linear(embed_dim, embed_dim) for _ in range(4))
        self.attention = MultiHeadAttention(
            embed_dim=embed_dim, num_heads=num_heads, num_kv_heads=num_heads, head_dim=embed_dim // num_heads,
            q_proj=q_proj, k_proj=k_proj, v_proj=v_proj, output_proj=out_proj, is_causal=False,
        )  # fmt: skip

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Any:
        """Attend to the input itself; masks are (B, n, n)."""
        if mask is not None and mask.ndim == 2:
            mask = mask.expand(len(x), -1, -1)
        return self.attention(x, x, mask=mask)
