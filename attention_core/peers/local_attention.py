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
