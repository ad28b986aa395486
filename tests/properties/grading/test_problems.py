"""What the processes are called on: an answer comes from whatever stands in the arena."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attention_core.bench.workloads.workload import Workload
from attention_core.grading.arena import Arena
from attention_core.grading.problems import AttentionProblem, FunctionProblem, ModuleProblem, tensor_of
from attention_core.grading.stages import attention_fields

MODEL = """
import torch
class Model(torch.nn.Module):
    def __init__(self, size, scale=1.0):
        super().__init__()
        self.linear = torch.nn.Linear(size, 3)
        self.scale = scale
    def forward(self, x, factor):
        return self.linear(x) * factor * self.scale
def get_inputs():
    return [torch.rand(2, 5), 2.0]
def get_init_inputs():
    return [5]
"""
FUNCTION = """
def returns(x, eps):
    return {"y": x + eps}
def writes(x, eps, y):
    y.copy_(x + eps)
"""


def arena_for(fields: Any) -> Arena:
    arena = Arena(fields)
    arena.forget()
    return arena


def test_attention_follows_its_arena() -> None:
    workload = Workload(H=2, n_q=3, n_kv=5, d=4, direction="bwd")
    problem = AttentionProblem("torch:default", {}, workload.to_json())
    arena = arena_for(attention_fields(workload))
    problem.bind(arena)
    for number in range(2):
        rng = np.random.default_rng(number)
        given = {f.name: rng.standard_normal(f.shape).astype("<f4") for f in arena.fields.values() if not f.is_output}
        arena.write(given)
        found = dict(problem.call())
        leaves = [torch.from_numpy(given[name]).requires_grad_() for name in ("query", "key", "value")]
        out = torch.nn.functional.scaled_dot_product_attention(*leaves)
        gradients = torch.autograd.grad(out, leaves, torch.from_numpy(given["cotangent"]))
        assert torch.allclose(found["out"], out)
        for name, gradient in zip(("query", "key", "value"), gradients, strict=True):
            assert torch.allclose(found[f"d_{name}"], gradient, atol=1e-6)


def test_a_layout_needs_no_copy(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "seen = []\ndef attention(q, k, v):\n    seen.append(q.data_ptr())\n    return v[:, :3] + q.sum() * 0\n"
    )
    workload = Workload(H=2, n_q=3, n_kv=3, d=4)
    problem = AttentionProblem(f"{path}:attention", {"layout": "bnhd"}, workload.to_json())
    order = (0, 2, 1, 3)
    arena = arena_for(attention_fields(workload, order, order))
    problem.bind(arena)
    value = np.random.default_rng(0).standard_normal((1, 2, 3, 4)).astype("<f4")
    arena.write({"query": value, "key": value, "value": value})
    [(name, out)] = problem.call()
    assert (name, tuple(out.shape)) == ("out", (1, 2, 3, 4)) and torch.equal(out, torch.from_numpy(value))
    assert problem.function.__globals__["seen"] == [arena.bytes.ctypes.data + arena.start("query")]


def test_modules_with_one_seed_agree_and_their_float64_is_near(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(MODEL + "class ModelNew(Model): pass\n")
    reference = ModuleProblem(str(path), "Model", None, 7, "float32")
    own = ModuleProblem(str(path), "ModelNew", [5], 7, "float32")
    fields, others = reference.fields(3)
    assert [f.name for f in fields] == ["input_0", "out"] and others == [None, 2.0]
    answers = []
    for problem in (reference, own):
        problem.inputs = others
        arena = arena_for(fields)
        problem.bind(arena)
        arena.write({"input_0": np.ones((2, 5), "<f4")})
        answers.append(dict(problem.call())["out"])
    assert torch.equal(*answers)
    exact = dict(reference.exact())["out"]
    nudged = dict(reference.exact(torch.Generator().manual_seed(0)))["out"]
    assert exact.dtype == torch.float64 and torch.allclose(exact.float(), answers[0], atol=1e-6)
    assert 0 < float((exact - nudged).abs().max()) < 1e-5
    assert torch.equal(dict(reference.call())["out"], answers[0])  # back in its dtype, and with its parameters


@pytest.mark.parametrize("name", ["returns", "writes"])
def test_a_function_is_called_by_names(tmp_path: Path, name: str) -> None:
    path = tmp_path / "run.py"
    path.write_text(FUNCTION)
    problem = FunctionProblem(str(path), name, {"eps": 0.5}, ["y"])
    from attention_core.grading.arena import Field

    arena = arena_for([Field("x", "float32", (3,)), Field("y", "float32", (3,), is_output=True)])
    problem.bind(arena)
    arena.write({"x": np.arange(3, dtype="<f4")})
    assert dict(problem.call())["y"].tolist() == [0.5, 1.5, 2.5]
    assert tensor_of(arena, "y").isnan().all()  # the arena's outputs are never handed in
