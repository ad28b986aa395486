"""torch's attention beside the rows of the kernel table: flex_attention's score_mod, modules, nested tensors, masks."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


def flex(query: Tensor, key: Tensor, value: Tensor, scale: float | None = None, enable_gqa: bool = False) -> Any:
    """flex_attention without torch.compile, nothing modified."""
    from torch.nn.attention.flex_attention import flex_attention

    return flex_attention(query, key, value, scale=scale, enable_gqa=enable_gqa)


def flex_causal(query: Tensor, key: Tensor, value: Tensor) -> Any:
    """flex_attention without torch.compile, causal by its score_mod."""
    from torch.nn.attention.flex_attention import flex_attention

    def causal(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return torch.where(i >= j, score, -torch.inf)

    return flex_attention(query, key, value, score_mod=causal)


def flex_blocks(
    query: Tensor, key: Tensor, value: Tensor, score_mod: Any = None, block_mask: Any = None,
    scale: float | None = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    """flex_attention without torch.compile, under a BlockMask."""
    from torch.nn.attention.flex_attention import flex_attention

    return flex_attention(query, key, value, score_mod, block_mask, scale, enable_gqa)


def sdpa(query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False) -> Tensor:
    """scaled_dot_product_attention as torch chooses its kernel."""
    return nn.functional.scaled_dot_product_attention(query, key, value, is_causal=is_causal)


def nested_tensors(query: Tensor, key: Tensor, value: Tensor, cu_seqlens: Tensor) -> Tensor:
    """scaled_dot_product_attention of jagged nested tensors: packed texts, (T, H, d)."""
    ends = cu_seqlens.long()
    q, k, v = (torch.nested.nested_tensor_from_jagged(x, ends).transpose(1, 2) for x in (query, key, value))
    out: Any = nn.functional.scaled_dot_product_attention(q, k, v)
    values: Tensor = out.transpose(1, 2).values()
    return values


class MultiHead(nn.Module):
    """nn.MultiheadAttention attending to its own input."""

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.mha = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)

    def forward(self, x: Tensor, attn_mask: Tensor | None = None) -> Any:
        """Attend where the mask is True: the module's own masks are True where it may not."""
        mask = None if attn_mask is None else ~attn_mask
        return self.mha(x, x, x, attn_mask=mask, need_weights=False)[0]


def causal_mask(n_q: int, n_kv: int) -> Tensor:
    """The mask of nn.Transformer, of one length."""
    if n_q != n_kv:
        raise ValueError("one length")
    return nn.Transformer.generate_square_subsequent_mask(n_q) == 0
