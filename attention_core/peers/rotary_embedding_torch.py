"""rotary-embedding-torch."""

from __future__ import annotations

from typing import Any

from torch import Tensor


def rotary(x: Tensor, positions: Tensor) -> Any:
    """RotaryEmbedding and apply_rotary_emb."""
    from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb

    return apply_rotary_emb(RotaryEmbedding(x.shape[-1])(positions), x)
