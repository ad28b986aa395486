"""Haiku's attention."""

from __future__ import annotations

from functools import cache
from typing import Any


def identity_heads(query: Any, key: Any, value: Any, mask: Any = None) -> Any:
    """MultiHeadAttention whose projections copy: attention on (B, H, n, d), heads beside each other on the way.

    Under jax.jit, as Haiku is used: XLA then compiles a new size once, and not each operation of it.
    """
    return compiled()(query, key, value, mask)


@cache
def compiled() -> Any:
    """The call, compiled for each size that it meets."""
    import jax

    return jax.jit(apply)


def apply(query: Any, key: Any, value: Any, mask: Any) -> Any:
    """The layer on arrays of heads."""
    import haiku
    import jax.numpy as np

    (B, H, n, d), d_v = query.shape, value.shape[-1]
    layer = haiku.transform(
        lambda *x: haiku.MultiHeadAttention(H, d, w_init=np.zeros, value_size=d_v, model_size=H * d_v)(*x)
    )
    names = {"query": H * d, "key": H * d, "value": H * d_v, "linear": H * d_v}
    weights = {
        f"multi_head_attention/{name}": {"w": np.eye(width, dtype=query.dtype), "b": np.zeros(width, query.dtype)}
        for name, width in names.items()
    }
    merged = (np.swapaxes(x, 1, 2).reshape(B, x.shape[2], H * x.shape[3]) for x in (query, key, value))
    out = layer.apply(weights, None, *merged, *(() if mask is None else (mask,)))
    return np.swapaxes(out.reshape(B, n, H, d_v), 1, 2)
