"""Right implementations in JAX, as `targets.py` has those in torch."""

from __future__ import annotations

from typing import Any

import jax


def jax_nn(
    query: Any, key: Any, value: Any, mask: Any = None, is_causal: bool = False, scale: float | None = None
) -> Any:
    return jax.nn.dot_product_attention(query, key, value, mask=mask, is_causal=is_causal, scale=scale)


def flax_linen(query: Any, key: Any, value: Any, mask: Any = None) -> Any:
    import flax.linen

    return flax.linen.dot_product_attention(query, key, value, mask=mask, deterministic=True)


def flax_nnx(query: Any, key: Any, value: Any) -> Any:
    from flax import nnx

    return nnx.dot_product_attention(query, key, value, deterministic=True)


def equinox_single(query: Any, key: Any, value: Any, mask: Any = None) -> Any:
    from equinox.nn._attention import dot_product_attention

    return jax.vmap(jax.vmap(lambda q, k, v: dot_product_attention(q, k, v, mask)))(query, key, value)
