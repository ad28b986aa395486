"""ONNX's reference evaluator, which is NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np


def angles(x: Any, positions: Any) -> tuple[Any, Any]:
    """cos and sin of the angles of every feature pair, (1, n, d/2), in the dtype of x."""
    d = x.shape[-1]
    turned = np.asarray(positions, np.float64)[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    return np.cos(turned).astype(x.dtype)[None], np.sin(turned).astype(x.dtype)[None]


def attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, is_causal: bool = False, scale: float | None = None
) -> Any:
    """The operator Attention."""
    from onnx.reference.ops.op_attention import _compute_attention

    if attn_mask is not None and attn_mask.shape[-1] != key.shape[-2]:
        raise ValueError("ONNX pads a shorter mask with -inf, which is another meaning than to broadcast it")
    return _compute_attention(query, key, value, attn_mask, is_causal=is_causal, scale=scale)[0]


def rotary(x: Any, positions: Any) -> Any:
    """The operator RotaryEmbedding, given cos and sin of each text's rows."""
    from onnx.reference.ops.op_rotary_embedding import rotary_embedding

    flat = x.reshape(-1, *x.shape[-3:])
    cos, sin = (np.repeat(table, len(flat), 0) for table in angles(x, positions))
    return rotary_embedding(flat, cos, sin).reshape(x.shape)
