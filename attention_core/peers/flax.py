"""Flax's attention, of both its generations, (B, n, H, d)."""

from __future__ import annotations

from typing import Any


def linen(query: Any, key: Any, value: Any, mask: Any = None) -> Any:
    """flax.linen.dot_product_attention."""
    import flax.linen

    return flax.linen.dot_product_attention(query, key, value, mask=mask, deterministic=True)


def nnx(query: Any, key: Any, value: Any) -> Any:
    """flax.nnx.dot_product_attention."""
    from flax import nnx as library

    return library.dot_product_attention(query, key, value, deterministic=True)
