"""Equinox' attention."""

from __future__ import annotations

from typing import Any


def dot_product(query: Any, key: Any, value: Any, mask: Any = None) -> Any:
    """The attention of one head of one sequence, mapped over both axes."""
    import jax
    from equinox.nn._attention import dot_product_attention

    return jax.vmap(jax.vmap(lambda q, k, v: dot_product_attention(q, k, v, mask)))(query, key, value)
