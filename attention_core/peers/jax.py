"""JAX's own attention."""

from __future__ import annotations

from typing import Any


def dot_product(
    query: Any, key: Any, value: Any, mask: Any = None, is_causal: bool = False, scale: float | None = None
) -> Any:
    """jax.nn.dot_product_attention, (B, n, H, d)."""
    import jax

    return jax.nn.dot_product_attention(query, key, value, mask=mask, is_causal=is_causal, scale=scale)
