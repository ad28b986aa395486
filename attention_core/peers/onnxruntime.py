"""ONNX Runtime on the processor: operators of ONNX, and its own."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from attention_core.peers.onnx import angles

DTYPES = {"float32": 1, "float16": 10, "float64": 11}
"""ONNX's numbers of dtypes."""


@cache
def session(kind: str, inputs: tuple[tuple[str, int], ...], dtype: int, **attributes: Any) -> Any:
    """A compiled model of one operator, DOMAIN:NAME or NAME; its inputs are names, each with its number of axes."""
    import onnxruntime as ort
    from onnx import helper

    domain, _, name = kind.rpartition(":")
    given = [helper.make_tensor_value_info(one, dtype, [None] * axes) for one, axes in inputs]
    node = helper.make_node(name, [one for one, _ in inputs], ["y"], domain=domain, **attributes)
    graph = helper.make_graph([node], "g", given, [helper.make_tensor_value_info("y", dtype, None)])
    opsets = [helper.make_opsetid("", 23), *([helper.make_opsetid(domain, 1)] if domain else [])]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    return ort.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])


def run(kind: str, arrays: dict[str, Any], **attributes: Any) -> Any:
    """The output of one operator."""
    dtype = DTYPES[str(next(iter(arrays.values())).dtype)]
    return session(kind, tuple((name, x.ndim) for name, x in arrays.items()), dtype, **attributes).run(None, arrays)[0]


def attention(query: Any, key: Any, value: Any, is_causal: bool = False) -> Any:
    """ONNX's operator Attention, (B, H, n, d)."""
    return run("Attention", {"q": query, "k": key, "v": value}, is_causal=int(is_causal))


def multi_head(query: Any, key: Any, value: Any, is_causal: bool = False) -> Any:
    """Its own operator MultiHeadAttention, (B, n, H, d); causality is the attribute unidirectional."""
    merged = {name: x.reshape(*x.shape[:2], -1) for name, x in zip("qkv", (query, key, value), strict=True)}
    heads = {"num_heads": query.shape[2], "unidirectional": int(is_causal)}
    return run("com.microsoft:MultiHeadAttention", merged, **heads).reshape(*query.shape[:3], -1)


def rotary(x: Any, positions: Any) -> Any:
    """ONNX's operator RotaryEmbedding, given cos and sin of each text's rows."""
    flat = np.ascontiguousarray(x.reshape(-1, *x.shape[-3:]))
    cos, sin = (np.repeat(table, len(flat), 0) for table in angles(x, positions))
    return run("RotaryEmbedding", {"x": flat, "cos": cos, "sin": sin}).reshape(x.shape)
