"""An ONNX model as a target: its inputs are the parameters, ONNX Runtime or the reference evaluator computes it.

A model is data: nothing in it is run but its operators, and operators of other domains are refused by what computes it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from attention_core.declaration.implementation import ALIASES, TargetError, summarize_error
from attention_core.worker.foreign import ForeignFunction

EVALUATORS = {"onnxruntime": "onnxruntime", "reference": "onnx"}
"""What can compute a model -> the package that has it; the first that is installed unless one is named."""
DTYPES = {
    "tensor(float16)": "float16", "tensor(float)": "float32", "tensor(double)": "float64", "tensor(bool)": "bool",
    "tensor(int32)": "int32", "tensor(int64)": "int64", "tensor(uint8)": "uint8", "tensor(int8)": "int8",
}  # fmt: skip
"""ONNX Runtime's names of types -> NumPy's."""
FLOATS = ("float16", "float32", "float64")
NO_SUCH_TYPE = "which NumPy does not have: export the model in float32 or float16"
INPUTS = 3
"""Query, key and value, or what a model has in their place, say which dtypes it takes."""


class Input(NamedTuple):
    """An input of a model: its name, NumPy's name of its type, and its axes, each a size, or None or a word for any."""

    name: str
    kind: str
    shape: list[Any]


class Model(ForeignFunction):
    """A model, called by the names of its inputs.

    An input for a mask may be left out, though a model wants one: then it hides nothing. One of fewer axes is spread.
    """

    def __init__(self, name: str, inputs: list[Input], run: Callable[[dict[str, Any]], list[Any]]) -> None:
        self.inputs, self.run = {as_identifier(one.name): one for one in inputs}, run
        kinds = {one.kind for one in inputs[:INPUTS] if one.kind in FLOATS}
        super().__init__(name, [parameter_of(one) for one in self.inputs], sorted(kinds) or FLOATS)

    def call(self, values: dict[str, Any]) -> Any:
        """The outputs of the model, one by itself."""
        given: dict[str, Any] = {}
        sizes: dict[Any, int] = {}
        for parameter, (name, kind, shape) in self.inputs.items():
            value = values[parameter]
            if is_mask(parameter):
                value = spread_mask(value, kind, shape, sizes)
            array = value if isinstance(value, np.ndarray) else np.asarray(value, kind)
            if array.dtype.name != kind:
                raise ValueError(f"the model's input {name!r} is of {kind}, got {array.dtype.name}")
            if len(shape) != array.ndim or not fits(shape, array.shape):
                raise ValueError(f"the model's input {name!r} has the shape {shape}, got {list(array.shape)}")
            sizes.update(zip(shape, array.shape, strict=True))
            given[name] = np.ascontiguousarray(array)
        outputs = self.run(given)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)


def is_mask(parameter: str) -> bool:
    """Whether an input is a mask of attention, by its name."""
    return ALIASES.get(parameter, parameter) == "attn_mask"


def parameter_of(name: str) -> inspect.Parameter:
    """The parameter of an input."""
    default = None if is_mask(name) else inspect.Parameter.empty
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)


def spread_mask(value: Any, kind: str, shape: list[Any], sizes: dict[Any, int]) -> Any:
    """A mask with all axes of an input; where none is given, one that hides nothing.

    Raises:
        ValueError: it does not broadcast to the sizes that other inputs have.

    Example:
        >>> spread_mask(np.array([[True, False]]), "bool", [1, "n_q", "n_kv"], {"n_q": 1, "n_kv": 2}).shape
        (1, 1, 2)
    """
    mask = np.asarray(kind == "bool", kind) if value is None else np.asarray(value)
    mask = mask.reshape((1,) * (len(shape) - mask.ndim) + mask.shape)
    full = zip(shape, mask.shape, strict=False)
    return np.broadcast_to(mask, [size if isinstance(size, int) else sizes.get(size, own) for size, own in full])


def as_identifier(name: str) -> str:
    """A name of a model's input as Python can write it.

    Example:
        >>> as_identifier("past_key.0")
        'past_key_0'
    """
    plain = re.sub(r"\W", "_", name)
    return plain if plain.isidentifier() else f"_{plain}"


def fits(shape: list[Any], sizes: tuple[int, ...]) -> bool:
    """Whether sizes are those that a shape fixes."""
    return all(not isinstance(want, int) or want == got for want, got in zip(shape, sizes, strict=True))


def load_model(path: str, evaluator: str = "") -> Model:
    """Load a model of a file.

    Args:
        path: of the file.
        evaluator: one of `EVALUATORS`, or "" for the first that is installed.

    Raises:
        TargetError: there is no such file or evaluator, it is not installed, or it cannot load the model.
    """
    if not Path(path).is_file():
        raise TargetError(f"no such file: {path}")
    if evaluator not in ("", *EVALUATORS):
        raise TargetError(f"{path}:{evaluator}: a model is computed by {' or '.join(EVALUATORS)}, not {evaluator!r}")
    require_model(path)
    tried = [evaluator] if evaluator else list(EVALUATORS)
    for one in tried:
        try:
            package = import_module(EVALUATORS[one])
        except ModuleNotFoundError:
            continue
        try:
            return LOADERS[one](path, package)
        except TargetError:
            raise
        except Exception as error:
            raise TargetError(
                f"{path} cannot be loaded by {one} {package.__version__}: {advise(error, one)}"
            ) from error
    packages = " or ".join(EVALUATORS[one] for one in tried)
    raise TargetError(f"{path} needs {packages} to be computed: pip install {EVALUATORS[tried[0]]}")


def advise(error: Exception, evaluator: str) -> str:
    """What went wrong when a model was loaded, in one line, and what to do where that is known.

    Example:
        >>> advise(ValueError("Opset 99 is new, supported are those till opset 28"), "reference").partition(":")[0]
        'it is of opset 99, and those up to 28 are known'
    """
    line = plain_reason(summarize_error(error))
    other = f"name the other evaluator, MODEL.onnx:{next(one for one in EVALUATORS if one != evaluator)}"
    for pattern, words in REASONS:
        if found := pattern.search(line):
            return words.format(*found.groups(), other=other)
    return line


def plain_reason(line: str) -> str:
    """An error of ONNX Runtime without its number, the name of the file and the function of its source.

    Example:
        >>> plain_reason("Fail: [ONNXRuntimeError] : 1 : FAIL : Load model from m.onnx failed:No output y")
        'No output y'
    """
    if "ONNXRuntimeError" not in line:
        return line
    line = re.sub(r"^.*?\[ONNXRuntimeError\] : \d+ : \w+ : (?:Load model from .*? failed: ?)?", "", line)
    return re.sub(r"^/\S+:\d+ .*\) (?=[A-Z])", "", line)


REASONS = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"[Oo]pset (\d+)\b.*till opset (\d+)",
         "it is of opset {0}, and those up to {1} are known: export it for an older one, or {other}"),
        (r"model IR version: (\d+), max supported IR version: (\d+)",
         "it is of IR version {0}, and those up to {1} are known: save it with model.ir_version = {1}, or {other}"),
        (r"No Op registered for (\S+) with domain_version of (\d+)",
         "opset {1} has no operator {0}: export it for an opset that has it (Attention: 23 and later), or as the "
         "operators that it is made of"),
        (r"No registered schema for operator '(\S+)' and domain ''",
         "ONNX has no operator {0}: export the model as operators that it has"),
        (r"(?:Fatal error: )?(\S+?):(\w+)\(-?\d+\) is not a registered function/op",
         "it has the operator {1} of {0}, which is not known here: export it as ONNX's own operators, or {other}"),
        (r"Node type '(\w+)' from domain '([^']*)' is unknown",
         "it has the operator {0} of {1}, which is not known here: export it as ONNX's own operators, or {other}"),
        (r"(?:No opset import for domain '([^']*)'|Domain '([^']*)' .*is not specified)",
         "it does not say which opset of a domain that it uses it needs: add that to its opset_import"),
        (r"Could not find an implementation for (\w+)\((\d+)\)",
         "{0}, version {1}, is not there for its types on a processor: export it in float32, or {other}"),
        (r"[Pp]rotobuf parsing failed|Error parsing message|Wire format|No graph was found",
         "it is not an ONNX model, or only a part of one: export it again, or fetch the whole file"),
        (r"(?:External data|external_data|External initializer|file_size|Data of TensorProto)",
         "its weights lie in another file, which is not beside it: put that there, or save the model in one file"),
    )
)  # fmt: skip
"""What a message of an evaluator holds -> what is said instead, with what to do."""


def require_model(path: str) -> None:
    """Refuse a file that is not a model by its first bytes.

    Raises:
        TargetError: it is empty, a pointer to a file that was not fetched, or text.
    """
    with Path(path).open("rb") as file:
        head = file.read(HEAD)
    if not head:
        raise TargetError(f"{path} is empty: export the model again")
    if head.startswith(b"version https://git-lfs"):
        raise TargetError(f"{path} is a pointer of Git LFS, not the model itself: fetch it with `git lfs pull`")
    if head.lstrip()[:1].isascii() and all(byte in TEXT for byte in head):
        start = head.decode("ascii").split("\n")[0][:40].strip()
        raise TargetError(f"{path} is text ({start!r} ...), not an ONNX model: name the file that was exported")


HEAD = 64
"""Bytes of a file that are looked at; a model has numbers of fields among its first ones."""
TEXT = frozenset(range(32, 127)) | frozenset(b"\t\r\n")
"""Bytes of plain text."""


def load_by_runtime(path: str, onnxruntime: Any) -> Model:
    """The model under ONNX Runtime, on one thread of the processor."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    inputs = [Input(one.name, read_type(path, one.name, one.type), list(one.shape)) for one in session.get_inputs()]
    return Model(Path(path).name, inputs, lambda given: session.run(None, given))


def load_by_reference(path: str, onnx: Any) -> Model:
    """The model under ONNX's reference evaluator, which is NumPy."""
    model, inputs = onnx.load(path), []
    if not model.graph.node:
        raise TargetError(f"{path} is not an ONNX model, or has no operator: export it again")
    require_outputs(path, model.graph)
    evaluator = import_module("onnx.reference").ReferenceEvaluator(model)
    fixed = {weights.name for weights in model.graph.initializer}
    for one in model.graph.input:
        if one.name in fixed:
            continue
        tensor = one.type.tensor_type
        kind = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type).name
        if kind not in DTYPES.values():
            raise TargetError(f"{path}: its input {one.name!r} is a {kind}, {NO_SUCH_TYPE}")
        shape = [d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in tensor.shape.dim]
        inputs.append(Input(one.name, kind, shape))
    return Model(Path(path).name, inputs, lambda given: evaluator.run(None, given))


def require_outputs(path: str, graph: Any) -> None:
    """Refuse a graph with an output that nothing in it makes.

    Raises:
        TargetError: there is one.
    """
    made = {name for node in graph.node for name in node.output}
    made |= {one.name for one in (*graph.input, *graph.initializer)}
    lost = [one.name for one in graph.output if one.name not in made]
    if lost:
        raise TargetError(f"{path}: no operator makes its output {lost[0]!r}: name an output that one makes")


LOADERS: dict[str, Callable[[str, Any], Model]] = {"onnxruntime": load_by_runtime, "reference": load_by_reference}


def read_type(path: str, name: str, kind: str) -> str:
    """NumPy's name of the type of a model's input.

    Raises:
        TargetError: NumPy has none.
    """
    if kind not in DTYPES:
        raise TargetError(f"{path}: its input {name!r} is a {kind}, {NO_SUCH_TYPE}")
    return DTYPES[kind]
