"""Definitions and solutions of flashinfer-bench: sizes, fresh inputs, files."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attention_core.declaration.implementation import TargetError
from attention_core.grading.flashinfer import read_definition, write_solution

DEFINITION: dict[str, Any] = {
    "name": "gqa_ragged",
    "axes": {"n": {"type": "var"}, "parts": {"type": "var"}, "h": {"type": "const", "value": 4},
             "head_dim": {"type": "const", "value": 16}},
    "constraints": ["n == indptr[-1].item()"],
    "inputs": {"q": {"shape": ["n", "h", "head_dim"], "dtype": "bfloat16"}, "indptr": {"shape": ["parts"], "dtype": "int32"},
               "sm_scale": {"shape": None, "dtype": "float32"}},
    "outputs": {"out": {"shape": ["n", "h"], "dtype": "float32"}},
    "reference": "def run(q, indptr, sm_scale): ...",
}  # fmt: skip
SOLUTION: dict[str, Any] = {
    "name": "x", "definition": "gqa_ragged", "author": "a",
    "spec": {"language": "Triton", "target_hardware": ["cpu"], "entry_point": "src/main.py::run"},
    "sources": [{"path": "src/main.py", "content": "def run(): ..."}, {"path": "help.py", "content": "x = 1"}],
}  # fmt: skip
AXES = {"n": 11, "parts": 4}


def written(folder: Path, data: Any) -> Path:
    path = folder / "x.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


def test_a_definition_and_its_inputs(tmp_path: Path) -> None:
    found = read_definition(written(tmp_path, DEFINITION), AXES, {})
    assert found.axes == {**AXES, "h": 4, "head_dim": 16} and found.scalars == {"sm_scale": 1 / math.sqrt(16)}
    assert [(f.name, f.shape, f.is_output) for f in found.fields] == [
        ("q", (11, 4, 16), False), ("indptr", (4,), False), ("out", (11, 4), True),
    ]  # fmt: skip
    draws = [found.draw(np.random.default_rng(seed)) for seed in range(20)]
    for draw in draws:
        assert draw["q"].dtype == "<u2" and draw["indptr"].dtype == "<i4"
        assert draw["indptr"][0] == 0 and draw["indptr"][-1] == 11 and (np.diff(draw["indptr"]) >= 0).all()
    assert len({draw["indptr"].tobytes() for draw in draws}) > 10
    assert read_definition(written(tmp_path, DEFINITION), AXES, {"sm_scale": 3}).scalars == {"sm_scale": 3}


@pytest.mark.parametrize(
    ("change", "axes", "words"),
    [
        ({}, {"n": 11}, "the axis parts is variable"),
        ({}, {**AXES, "m": 1}, "has no axis 'm'"),
        ({"constraints": []}, AXES, "which axis indptr splits"),
        ({"reference": None}, AXES, "it lacks reference"),
        ({"outputs": {"out": {"shape": ["n"], "dtype": "float8_e4m3fn"}}}, AXES, "is not graded"),
        ({"inputs": {"eps": {"shape": None, "dtype": "float32"}}}, AXES, "eps is a number"),
    ],
)
def test_what_a_definition_lacks(tmp_path: Path, change: dict[str, Any], axes: dict[str, int], words: str) -> None:
    data = {k: v for k, v in {**DEFINITION, **change}.items() if v is not None}
    with pytest.raises(TargetError, match=words):
        read_definition(written(tmp_path, data), axes, {})


def test_a_solutions_files(tmp_path: Path) -> None:
    files, file, function = write_solution(written(tmp_path, SOLUTION), tmp_path / "to")
    assert [path.relative_to(tmp_path / "to").as_posix() for path in files] == ["src/main.py", "help.py"]
    assert (file, function) == ("src/main.py", "run") and files[1].read_text() == "x = 1"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sources": [{"path": "../main.py", "content": ""}]}, "does not lie in the solution's folder"),
        ({"sources": [{"path": "/tmp/main.py", "content": ""}]}, "does not lie in the solution's folder"),
        ({"spec": {"language": "cuda", "entry_point": "a.cu::run"}}, "python and triton are"),
        ({"spec": {"language": "python", "entry_point": "main.py"}}, "entry_point"),
        ({"sources": None}, "lacks spec or sources"),
    ],
)
def test_what_is_no_solution(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    with pytest.raises(TargetError, match=words):
        write_solution(written(tmp_path, {**SOLUTION, **change}), tmp_path / "to")


@pytest.mark.parametrize(
    ("text", "words"), [("{", "is not JSON"), ("[" * 200_000, "is not JSON"), ("[]", "is not a JSON object")]
)
def test_what_is_no_json(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(TargetError, match=words):
        read_definition(written(tmp_path, text), AXES, {})
