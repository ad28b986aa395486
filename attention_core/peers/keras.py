"""Keras' attention on the backend that KERAS_BACKEND names, with arrays of torch, JAX, NumPy or TensorFlow."""

from __future__ import annotations

from typing import Any


def dot_product(query: Any, key: Any, value: Any, mask: Any = None, is_causal: bool = False) -> Any:
    """keras.ops.dot_product_attention, (B, n, H, d)."""
    import keras

    return keras.ops.dot_product_attention(query, key, value, mask=mask, is_causal=is_causal)


def dot_product_read(query: Any, key: Any, value: Any, mask: Any = None, is_causal: bool = False) -> Any:
    """The same on arrays of NumPy, whatever the backend's are: what comes out is read as one of them."""
    import keras

    return keras.ops.convert_to_numpy(dot_product(query, key, value, mask, is_causal))
