"""ONNX models as targets: what they are given, and the lines for those that cannot be loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attention_core.conformance import Implementation, check_implementation
from attention_core.declaration.implementation import TargetError
from attention_core.worker import onnx_model
from attention_core.worker.onnx_model import Input, Model, load_model

INPUTS = [
    Input("query", "float32", ["B", "H", "n_q", 4]),
    Input("past.key", "float32", ["B", "H", "n_kv", 4]),
    Input("value", "float32", ["B", "H", "n_kv", None]),
    Input("attn_mask", "bool", ["B", 1, "n_q", "n_kv"]),
]


def attend(given: dict[str, Any]) -> list[Any]:
    """What the model of the tests computes."""
    scores = given["query"] @ given["past.key"].swapaxes(-1, -2) / 2
    weights = np.exp(scores - scores.max(-1, keepdims=True)) * given["attn_mask"]
    total = weights.sum(-1, keepdims=True, dtype=np.float32)
    return [(weights / np.where(total == 0, 1, total) @ given["value"]).astype(np.float32)]


def test_a_model_is_judged_by_the_names_of_its_inputs() -> None:
    model = Model("m.onnx", INPUTS, attend)
    q, k = np.ones((2, 3, 5, 4), np.float32), np.ones((2, 3, 6, 4), np.float32)
    assert list(model.__signature__.parameters) == ["query", "past_key", "value", "attn_mask"]
    assert model(q, k, k).shape == (2, 3, 5, 4) == model(q, k, k, np.ones((5, 6), bool)).shape
    for arguments, said in (
        ((q.astype(np.float16), k, k), "'query' is of float32, got float16"),
        ((q[..., :3], k, k), "'query' has the shape"),
        ((q[0], k, k), "'query' has the shape"),
        ((q, k, k, np.zeros((5, 6), np.float32)), "'attn_mask' is of bool, got float32"),
    ):
        with pytest.raises(ValueError, match=said):
            model(*arguments)


def test_a_type_that_numpy_lacks_is_named() -> None:
    with pytest.raises(TargetError, match=r"m.onnx: its input 'q' is a tensor\(bfloat16\), which NumPy does not have"):
        onnx_model.read_type("m.onnx", "q", "tensor(bfloat16)")


def test_what_cannot_be_loaded_is_said_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(b"no model")
    with pytest.raises(TargetError, match="computed by onnxruntime or reference, not 'tensorrt'"):
        load_model(str(path), "tensorrt")
    with pytest.raises(TargetError, match=r"^no such file: none\.onnx$"):
        load_model("none.onnx")
    monkeypatch.setattr(onnx_model, "EVALUATORS", {"onnxruntime": "no_such_package", "reference": "no_other_package"})
    with pytest.raises(
        TargetError, match="needs no_such_package or no_other_package to be computed: pip install no_such"
    ):
        load_model(str(path))


@pytest.mark.parametrize("evaluator", ["onnxruntime", "reference"])
def test_models_of_files_hold_or_are_refuted(tmp_path: Path, evaluator: str) -> None:
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    pytest.importorskip(onnx_model.EVALUATORS[evaluator], reason=f"{evaluator} is not installed")
    axes = {"query": ["B", "H", "n_q", "d"], "key": ["B", "H", "n_kv", "d"], "value": ["B", "H", "n_kv", "d_v"]}
    kind, helper = onnx.TensorProto.FLOAT, onnx.helper
    for opset, outputs, status in ((23, ["out"], "held"), (99, ["out"], "")):
        given = [helper.make_tensor_value_info(name, kind, shape) for name, shape in axes.items()]
        result = helper.make_tensor_value_info("out", kind, ["B", "H", "n_q", "d_v"])
        graph = helper.make_graph([helper.make_node("Attention", list(axes), outputs)], "g", given, [result])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        model.ir_version = 10
        onnx.save(model, tmp_path / "m.onnx")
        if not status:
            if evaluator == "onnxruntime":
                with pytest.raises(TargetError, match=r"it is of opset 99, and those up to \d+ are known"):
                    load_model(str(tmp_path / "m.onnx"), evaluator)
            continue
        record = Implementation(
            load_model(str(tmp_path / "m.onnx"), evaluator), "m", array="numpy", gradients=False, dtypes=("float32",),
            batch_axes="one",
        )  # fmt: skip
        report = check_implementation(record, "quick", laws=["agrees_with_truth"])
        assert [r.status for r in report.laws] == [status], report.reason()
