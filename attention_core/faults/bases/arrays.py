"""Correct attention in NumPy and in JAX, for the targets that take their arrays."""

from __future__ import annotations

from typing import Any

import numpy as np


def by_numpy() -> Any:
    """NumPy alone, in float32 or wider."""

    def attention(
        query: Any, key: Any, value: Any, attn_mask: Any = None, is_causal: bool = False, scale: float | None = None
    ) -> Any:
        wide = np.result_type(query.dtype, np.float32)
        return _attend(
            np, query.astype(wide), key.astype(wide), value.astype(wide), attn_mask, is_causal, scale
        ).astype(query.dtype)

    return attention


def by_jax() -> Any:
    """JAX, with gradients through its own vjp."""
    import jax.numpy as jnp

    def attention(
        query: Any, key: Any, value: Any, attn_mask: Any = None, is_causal: bool = False, scale: float | None = None
    ) -> Any:
        wide = jnp.promote_types(query.dtype, jnp.float32)
        q, k, v = query.astype(wide), key.astype(wide), value.astype(wide)
        return _attend(jnp, q, k, v, attn_mask, is_causal, scale).astype(query.dtype)

    return attention


def _attend(np_: Any, q: Any, k: Any, v: Any, mask: Any, is_causal: bool, scale: float | None) -> Any:
    if q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2] or q.shape[-3] != k.shape[-3]:
        raise ValueError("head sizes, lengths or heads differ")
    scale = 1 / float(np.sqrt(q.shape[-1])) if scale is None else scale
    s = scale * (q @ np_.swapaxes(k, -1, -2))
    if mask is not None:
        if np_.broadcast_shapes(mask.shape, s.shape) != s.shape:
            raise ValueError("the mask does not broadcast to the scores")
        s = np_.where(mask, s, -np_.inf) if mask.dtype == bool else s + mask
    if is_causal:
        s = np_.where(np_.tril(np_.ones(s.shape[-2:], dtype=bool)), s, -np_.inf)
    dead = np_.all(s == -np_.inf, -1, keepdims=True)
    if not s.shape[-1]:
        return s @ v
    e = np_.exp(np_.where(dead, -np_.inf, s - np_.where(dead, 0.0, s.max(-1, keepdims=True))))
    return e / np_.where(dead, 1.0, e.sum(-1, keepdims=True)) @ v
