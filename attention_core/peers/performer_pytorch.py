"""performer-pytorch."""

from __future__ import annotations

from typing import Any

from torch import Tensor


def rotary(x: Tensor, positions: Tensor) -> Any:
    """FixedPositionalEmbedding as a table of angles, and apply_rotary_pos_emb."""
    from performer_pytorch.performer_pytorch import FixedPositionalEmbedding, apply_rotary_pos_emb

    table = FixedPositionalEmbedding(x.shape[-1], int(positions.max()) + 1 if len(positions) else 1).emb
    return apply_rotary_pos_emb(x, x, table[None, positions])[0]
