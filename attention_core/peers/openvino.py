"""OpenVINO's attention on the processor."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np


@cache
def model(causal: bool, dtype: str) -> Any:
    """A compiled model of one scaled_dot_product_attention."""
    import openvino
    from openvino import opset13

    kind, shape = openvino.Type(np.dtype(dtype)), openvino.PartialShape([-1] * 4)
    inputs = [opset13.parameter(shape, kind, name=name) for name in "qkv"]
    graph = openvino.Model([opset13.scaled_dot_product_attention(*inputs, causal=causal)], inputs)
    return openvino.Core().compile_model(graph, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})


def attention(query: Any, key: Any, value: Any, is_causal: bool = False) -> Any:
    """The operator ScaledDotProductAttention, (B, H, n, d)."""
    return model(is_causal, str(query.dtype))([query, key, value])[0]
