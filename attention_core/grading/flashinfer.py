"""The formats of flashinfer-bench: a definition (axes, inputs, outputs, a reference as text) and a solution (files).

Inputs of floats are standard normal. Offsets (`*_indptr`) are split anew for every call, indices are a permutation, and
numbers without a shape come from the task's [scalars]; `sm_scale` is 1/sqrt(head_dim) unless it is given.
Source: flashinfer-bench, docs/flashinfer_trace/definition.md and solution.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import numpy.typing as npt

from attention_core.conformance.worker.exchange import FLOATS, STORAGE, encode
from attention_core.declaration.implementation import TargetError
from attention_core.declaration.json_file import read_json
from attention_core.grading.arena import Field

Stored = npt.NDArray[Any]
LANGUAGES = ("python", "triton")
LAST = re.compile(r"^\s*(\w+)\s*==\s*(\w+)\[-1\](?:\.item\(\))?\s*$")
"""A constraint that says how long the parts of a packed axis are together."""


@dataclass(frozen=True)
class Definition:
    """A definition with sizes for all its axes.

    Args:
        name: its name. axes: sizes. inputs: arrays by name. scalars: numbers by name. outputs: arrays by name.
        reference: source text with a function `run`. totals: the axis that an array of offsets splits.
    """

    name: str
    axes: Mapping[str, int]
    inputs: Mapping[str, Field]
    scalars: Mapping[str, Any]
    outputs: Mapping[str, Field]
    reference: str
    totals: Mapping[str, str]

    @property
    def fields(self) -> list[Field]:
        """All arrays of a call."""
        return [*self.inputs.values(), *self.outputs.values()]

    def draw(self, rng: np.random.Generator) -> dict[str, Stored]:
        """Fresh inputs in storage type."""
        return {name: self._draw_one(name, field, rng) for name, field in self.inputs.items()}

    def _draw_one(self, name: str, field: Field, rng: np.random.Generator) -> Stored:
        if field.dtype in FLOATS:
            return encode(rng.standard_normal(field.shape, dtype=np.float32), field.dtype)
        kind = np.dtype(STORAGE[field.dtype])
        if field.dtype == "bool":
            return rng.random(field.shape) < 0.5
        if name.endswith("indptr"):
            total = self.axes[self.totals[name]]
            cuts = np.sort(rng.integers(0, total + 1, field.size - 2))
            return np.concatenate([[0], cuts, [total]]).astype(kind)
        return rng.permutation(field.size).astype(kind).reshape(field.shape)


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object of a file.

    Raises: TargetError.
    """
    data = read_json(path)
    if not isinstance(data, dict):
        raise TargetError(f"{path} is not a JSON object")
    return data


def read_definition(path: Path, axes: Mapping[str, int], scalars: Mapping[str, Any]) -> Definition:
    """Read a definition.

    Args:
        path: of its JSON. axes: sizes of its variable axes. scalars: its inputs without a shape.

    Raises: TargetError: it is not one, or a size or number is missing.
    """
    data = read_object(path)
    for key in ("name", "axes", "inputs", "outputs", "reference"):
        if key not in data:
            raise TargetError(f"{path} is not a definition of flashinfer-bench: it lacks {key}")
    sizes = _sizes(data["axes"], axes, path)
    inputs = {n: _field(n, tensor, sizes, path) for n, tensor in data["inputs"].items() if tensor["shape"] is not None}
    outputs = {n: _field(n, tensor, sizes, path, True) for n, tensor in data["outputs"].items()}
    numbers = {n: _scalar(n, scalars, sizes, path) for n, tensor in data["inputs"].items() if tensor["shape"] is None}
    found = [match.groups() for text in data.get("constraints") or [] if (match := LAST.match(str(text)))]
    totals = {offsets: axis for axis, offsets in found}
    for name, field in inputs.items():
        if name.endswith("indptr") and field.dtype not in FLOATS and totals.get(name) not in sizes:
            raise TargetError(f"{path}: no constraint says which axis {name} splits: write TOTAL == {name}[-1]")
    return Definition(str(data["name"]), sizes, inputs, numbers, outputs, str(data["reference"]), totals)


def _sizes(axes: Mapping[str, Any], given: Mapping[str, int], path: Path) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for name, axis in axes.items():
        size = axis.get("value") if axis.get("type") == "const" else given.get(name)
        if not isinstance(size, int) or size < 1:
            raise TargetError(f"{path}: the axis {name} is variable: give its size under [axes] of a TOML task")
        sizes[name] = size
    unknown = [name for name in given if name not in sizes]
    if unknown:
        raise TargetError(f"{path} has no axis {unknown[0]!r}; there are {', '.join(sizes)}")
    return sizes


def _field(
    name: str, tensor: Mapping[str, Any], sizes: Mapping[str, int], path: Path, is_output: bool = False
) -> Field:
    if tensor["shape"] is None or tensor["dtype"] not in STORAGE:
        raise TargetError(
            f"{path}: {name} of dtype {tensor['dtype']} is not graded: {', '.join(STORAGE)} are, as arrays"
        )
    return Field(name, tensor["dtype"], tuple(sizes[axis] for axis in tensor["shape"]), is_output=is_output)


def _scalar(name: str, scalars: Mapping[str, Any], sizes: Mapping[str, int], path: Path) -> Any:
    if name in scalars:
        return scalars[name]
    if name == "sm_scale" and "head_dim" in sizes:
        return 1 / math.sqrt(sizes["head_dim"])
    raise TargetError(f"{path}: {name} is a number: give it under [scalars] of a TOML task")


def write_solution(path: Path, to: Path) -> tuple[list[Path], str, str]:
    """Write the files of a solution.

    Returns: the files, and the file and function of its entry point.
    Raises: TargetError: it is not a solution, is not written in Python, or leaves its folder.
    """
    data = read_object(path)
    spec, sources = data.get("spec"), data.get("sources")
    if not isinstance(spec, dict) or not isinstance(sources, list):
        raise TargetError(f"{path} is not a solution of flashinfer-bench: it lacks spec or sources")
    language = str(spec.get("language", "")).lower()
    if language not in LANGUAGES:
        raise TargetError(f"{path}: language {language!r} is not graded: {' and '.join(LANGUAGES)} are")
    files = []
    for source in sources:
        where = PurePosixPath(str(source.get("path", "")))
        if where.is_absolute() or ".." in where.parts or not where.parts:
            raise TargetError(f"{path}: the source {str(where)!r} does not lie in the solution's folder")
        place = to / where
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(str(source.get("content", "")), encoding="utf-8")
        files.append(place)
    file, _, function = str(spec.get("entry_point", "")).partition("::")
    if to / file not in files or not function.isidentifier():
        raise TargetError(f"{path}: entry_point is not FILE::FUNCTION of one of its sources")
    return files, file, function
