"""ONNX models as targets: what they are given, and the lines for those that cannot be loaded."""

from __future__ import annotations

import re
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
    path.write_bytes(b"\x00no model")
    with pytest.raises(TargetError, match="computed by onnxruntime or reference, not 'tensorrt'"):
        load_model(str(path), "tensorrt")
    with pytest.raises(TargetError, match=r"^no such file: none\.onnx$"):
        load_model("none.onnx")
    monkeypatch.setattr(onnx_model, "EVALUATORS", {"onnxruntime": "no_such_package", "reference": "no_other_package"})
    with pytest.raises(
        TargetError, match="needs no_such_package or no_other_package to be computed: pip install no_such"
    ):
        load_model(str(path))


MESSAGES = {  # of ONNX Runtime 1.32 and onnx 1.23
    "InvalidGraph: [ONNXRuntimeError] : 10 : INVALID_GRAPH : Load model from m.onnx failed:This is an invalid model. In "
    'Node, ("", Attention, "", -1) : ("query": tensor(float),) -> ("out": tensor(float),) , Error No Op registered for '
    "Attention with domain_version of 22": "opset 22 has no operator Attention: export it for an opset that has it",
    "NotImplementedError: No registered schema for operator 'Fancy' and domain ''. Did you": "ONNX has no operator Fancy: ",
    "Fail: [ONNXRuntimeError] : 1 : FAIL : Load model from m.onnx failed:Fatal error: my.ops:Flash(-1) is not a registered "
    "function/op": "it has the operator Flash of my.ops, which is not known here: export",
    "NotImplementedError: Node type 'Flash' from domain 'my.ops' is unknown, known functions: [].": "it has the operator "
    "Flash of my.ops, which is not known here: export",
    "InvalidProtobuf: [ONNXRuntimeError] : 7 : INVALID_PROTOBUF : Load model from m.onnx failed:Protobuf parsing failed.":
    "it is not an ONNX model, or only a part of one: export it again",
    "DecodeError: Error parsing message with type 'onnx.ModelProto': Wire format was corrupt": "it is not an ONNX model, or",
    "Fail: [ONNXRuntimeError] : 1 : FAIL : Load model from m.onnx failed:/src/graph/model.cc:256 onnxruntime::Model::Model("
    "onnx::ModelProto&&) Unsupported model IR version: 99, max supported IR version: 14": "it is of IR version 99, and those "
    "up to 14 are known: save it with model.ir_version = 14, or name the other evaluator, MODEL.onnx:reference",
    "NotImplemented: [ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : Could not find an implementation for Expand(13) node with "
    "name ''": "Expand, version 13, is not there for its types on a processor: export it in float32",
    "RuntimeError: Domain 'my.ops' (node type: 'Flash') is not specified. Known opsets: {'': 23}.": "it does not say which ",
    "Fail: [ONNXRuntimeError] : 1 : FAIL : Load model from m.onnx failed:Graph output (y) does not exist in the graph.":
    "Graph output (y) does not exist in the graph.",
}  # fmt: skip


@pytest.mark.parametrize("message", MESSAGES)
def test_messages_of_evaluators_become_one_line_with_what_to_do(message: str) -> None:
    kind, _, text = message.partition(": ")
    error = type(kind, (Exception,), {})(text)
    said = onnx_model.advise(error, "onnxruntime")
    assert said.startswith(MESSAGES[message])
    assert "\n" not in said
    assert "ONNXRuntimeError" not in said


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "m.onnx is empty: export the model again"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:a", "is a pointer of Git LFS, not the model itself"),
        (b"<!DOCTYPE html><html>404", "m.onnx is text ('<!DOCTYPE html><html>404' ...), not an ONNX model"),
    ],
)
def test_what_is_no_model_by_its_first_bytes_is_refused_before_an_evaluator(
    tmp_path: Path, content: bytes, words: str
) -> None:
    (tmp_path / "m.onnx").write_bytes(content)
    with pytest.raises(TargetError, match=re.escape(words)):
        load_model(str(tmp_path / "m.onnx"))


def test_a_model_without_what_it_names_is_refused(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    helper, path = onnx.helper, tmp_path / "m.onnx"
    for kind, output, words in (
        (onnx.TensorProto.FLOAT, "nowhere", "no operator makes its output 'nowhere'"),
        (onnx.TensorProto.BFLOAT16, "y", "its input 'x' is a bfloat16, which NumPy does not have: export"),
    ):
        x, y = (helper.make_tensor_value_info(name, kind, ["n"]) for name in ("x", output))
        graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [x], [y])
        onnx.save(helper.make_model(graph), path)
        with pytest.raises(TargetError, match=words):
            load_model(str(path), "reference")
    onnx.save(helper.make_model(helper.make_graph([], "g", [], [])), path)
    with pytest.raises(TargetError, match="has no operator: export it again"):
        load_model(str(path), "reference")


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
