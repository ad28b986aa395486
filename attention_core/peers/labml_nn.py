"""labml-nn, the annotated implementations of a course."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class MultiHead(nn.Module):
    """MultiHeadAttention, whose sequences come before batches and whose masks are (n, n, B)."""

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        from labml_nn.transformers.mha import MultiHeadAttention

        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("heads do not divide")
        self.attention = MultiHeadAttention(num_heads, embed_dim, 0.0)
        self.q_proj, self.k_proj = self.attention.query.linear, self.attention.key.linear
        self.v_proj, self.out_proj = self.attention.value.linear, self.attention.output

    def forward(self, x: Tensor) -> Tensor:
        """Attend to the input itself."""
        y = x.transpose(0, 1)
        out: Tensor = self.attention(query=y, key=y, value=y)
        return out.transpose(0, 1)


def rotary(x: Tensor, positions: Tensor) -> Tensor:
    """RotaryPositionalEmbeddings, which rotates the rows 0, 1, 2, ...: zeros stand before the first position."""
    from labml_nn.transformers.rope import RotaryPositionalEmbeddings

    first = int(positions[0]) if len(positions) else 0
    if first < 0 or (positions.diff() != 1).any():
        raise ValueError("positions that follow each other")
    rows = x.reshape(-1, *x.shape[-3:]).permute(2, 0, 1, 3)
    before = rows.new_zeros(first, *rows.shape[1:])
    turned: Tensor = RotaryPositionalEmbeddings(x.shape[-1])(torch.cat([before, rows]))
    return turned[first:].permute(1, 2, 0, 3).reshape(x.shape)


def alibi(H: int, n_q: int, n_kv: int) -> Tensor:
    """get_alibi_biases of a causal mask, which grow with the key; each row less its own position's."""
    from labml_nn.transformers.alibi import get_alibi_biases

    if n_q > n_kv:
        raise ValueError("more queries than keys")
    biases: Tensor = get_alibi_biases(H, torch.ones(1, n_kv))[0].T
    last = torch.arange(n_kv - n_q, n_kv)
    return biases[:, None, :] - biases[:, last, None]


def table(n: int, d: int) -> Any:
    """get_positional_encoding."""
    from labml_nn.transformers.positional_encoding import get_positional_encoding

    return get_positional_encoding(d, n)[:, 0]
