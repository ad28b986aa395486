"""Right implementations that take NumPy arrays, as `targets.py` has those in torch."""

from __future__ import annotations

from typing import Any

import numpy as np

DTYPES = {"float32": 1, "float16": 10, "float64": 11}
"""ONNX's numbers of dtypes."""


def onnx_reference(query: Any, key: Any, value: Any, attn_mask: Any = None, is_causal: bool = False) -> Any:
    from onnx.reference.ops.op_attention import _compute_attention

    if attn_mask is not None and attn_mask.shape[-1] != key.shape[-2]:
        raise ValueError("ONNX pads a shorter mask with -inf, which is another meaning than to broadcast it")
    return _compute_attention(query, key, value, attn_mask, is_causal=is_causal)[0]


_SESSIONS: dict[tuple[Any, ...], Any] = {}


def _onnx_session(causal: bool, masked: bool, dtype: int) -> Any:
    import onnxruntime as ort
    from onnx import helper

    key = (causal, masked, dtype)
    if key not in _SESSIONS:
        names = ["Q", "K", "V", *(["M"] if masked else [])]
        inputs = [helper.make_tensor_value_info(n, dtype, None if n == "M" else [None] * 4) for n in names]
        node = helper.make_node("Attention", names, ["Y"], is_causal=int(causal))
        graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("Y", dtype, [None] * 4)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
        options = ort.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = 1, 4
        _SESSIONS[key] = ort.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    return _SESSIONS[key]


def onnxruntime_attention(query: Any, key: Any, value: Any, is_causal: bool = False) -> Any:
    session = _onnx_session(is_causal, False, DTYPES[str(query.dtype)])
    return session.run(None, {"Q": query, "K": key, "V": value})[0]


def mlx_fast(query: Any, key: Any, value: Any, mask: Any = None) -> Any:
    import mlx.core as mx

    arrays = [mx.array(x) for x in (query, key, value)]
    masked = None if mask is None else mx.array(mask)
    return np.array(mx.fast.scaled_dot_product_attention(*arrays, scale=query.shape[-1] ** -0.5, mask=masked))


def mlx_rope(x: Any, positions: Any) -> Any:
    import mlx.core as mx

    if (np.diff(positions) != 1).any():
        raise ValueError("it rotates by an offset and by every place's distance from it")
    offset = int(positions[0]) if len(positions) else 0
    rotate = {"traditional": False, "base": 10000.0, "scale": 1.0, "offset": offset}
    return np.array(mx.fast.rope(mx.array(x), x.shape[-1], **rotate))


def _openvino_model(causal: bool, masked: bool, dtype: str) -> Any:
    import openvino
    from openvino import opset13

    key = ("openvino", causal, masked, dtype)
    if key not in _SESSIONS:
        kind = openvino.Type(np.dtype(dtype))
        inputs = [opset13.parameter(openvino.PartialShape([-1] * 4), kind, name=name) for name in "qkv"]
        if masked:
            inputs.append(opset13.parameter(openvino.PartialShape([-1, -1]), openvino.Type.boolean, name="mask"))
        model = openvino.Model([opset13.scaled_dot_product_attention(*inputs, causal=causal)], inputs)
        _SESSIONS[key] = openvino.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return _SESSIONS[key]


def openvino_attention(query: Any, key: Any, value: Any, is_causal: bool = False) -> Any:
    return _openvino_model(is_causal, False, str(query.dtype))([query, key, value])[0]
