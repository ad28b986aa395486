"""MLX's fused operations, on NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np


def fast(query: Any, key: Any, value: Any, mask: Any = None) -> Any:
    """mlx.fast.scaled_dot_product_attention."""
    import mlx.core as mx

    arrays = [mx.array(x) for x in (query, key, value)]
    masked = None if mask is None else mx.array(mask)
    return np.array(mx.fast.scaled_dot_product_attention(*arrays, scale=query.shape[-1] ** -0.5, mask=masked))


def fast_causal(query: Any, key: Any, value: Any) -> Any:
    """mlx.fast.scaled_dot_product_attention with its mask "causal"."""
    import mlx.core as mx

    arrays = [mx.array(x) for x in (query, key, value)]
    return np.array(mx.fast.scaled_dot_product_attention(*arrays, scale=query.shape[-1] ** -0.5, mask="causal"))


def rope(x: Any, positions: Any) -> Any:
    """mlx.fast.rope, which rotates by an offset and by every place's distance from it."""
    import mlx.core as mx

    if (np.diff(positions) != 1).any():
        raise ValueError("positions that follow each other")
    offset = int(positions[0]) if len(positions) else 0
    rotate = {"traditional": False, "base": 10000.0, "scale": 1.0, "offset": offset}
    return np.array(mx.fast.rope(mx.array(x), x.shape[-1], **rotate))


class LanguageModelCache:
    """mlx-lm's KVCache with the attention that its models call."""

    def __init__(self) -> None:
        from mlx_lm.models.cache import KVCache

        self.cache = KVCache()

    def __call__(self, query: Any, key: Any, value: Any) -> Any:
        import mlx.core as mx
        from mlx_lm.models.base import create_causal_mask, scaled_dot_product_attention

        offset = self.cache.offset
        keys, values = self.cache.update_and_fetch(mx.array(key), mx.array(value))
        mask, scale = create_causal_mask(query.shape[-2], offset), query.shape[-1] ** -0.5
        return np.array(scaled_dot_product_attention(mx.array(query), keys, values, self.cache, scale, mask))
