"""Keras' attention, on the backend that KERAS_BACKEND names: its arrays are those of torch, JAX or NumPy."""

from __future__ import annotations

from typing import Any


def dot_product(query: Any, key: Any, value: Any, mask: Any = None, is_causal: bool = False) -> Any:
    """keras.ops.dot_product_attention, (B, n, H, d)."""
    import keras

    return keras.ops.dot_product_attention(query, key, value, mask=mask, is_causal=is_causal)
