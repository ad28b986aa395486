"""Torch and NumPy (and JAX, where installed) behind their common face.

The array libraries: memory is built exactly as described, and what comes back is what the library held.
Numbers here are small and whole, exact in every dtype.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch

from attention_core.conformance.worker.arrays import NumpyArrays, TorchArrays, WrongReturn, library
from attention_core.conformance.worker.exchange import FLOATS, array
from attention_core.declaration.implementation import Implementation, TargetError

VIEWS = (
    "contiguous",
    "transposed",
    "heads_last",
    "rows_first",
    "heads_first",
    "sliced",
    "padded",
    "offset",
    "expanded",
    "broadcast",
)
SHAPE = (2, 3, 5, 7)


def numbers(view: str = "") -> Any:
    values = np.arange(210.0).reshape(SHAPE) % 128
    return np.broadcast_to(values[:1], SHAPE) if view in ("expanded", "broadcast") else values


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("view", VIEWS)
def test_torch_tensors_have_the_described_memory(view: str, dtype: str) -> None:
    spec = array(numbers(view), dtype, view)
    tensor = TorchArrays().build(spec)
    assert tensor.dtype == getattr(torch, dtype)
    assert (tuple(tensor.shape), tensor.stride(), tensor.storage_offset()) == (SHAPE, spec.strides, spec.offset)
    assert tensor.untyped_storage().nbytes() == spec.base.nbytes
    assert TorchArrays().memory(tensor) == spec.base.tobytes()
    np.testing.assert_array_equal(TorchArrays().read(tensor).values, numbers(view))


@pytest.mark.parametrize("view", VIEWS)
def test_numpy_arrays_have_the_described_memory(view: str) -> None:
    spec = array(numbers(view), "float32", view)
    found = NumpyArrays().build(spec)
    assert found.dtype == np.float32
    assert (found.shape, found.strides) == (SHAPE, tuple(4 * s for s in spec.strides))
    assert NumpyArrays().memory(found) == spec.base.tobytes()
    np.testing.assert_array_equal(NumpyArrays().read(found).values, numbers(view))


@pytest.mark.parametrize("name", ["torch", "numpy"])
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1, 1)])
def test_shapes_without_numbers_or_axes(name: str, shape: tuple[int, ...]) -> None:
    lib = library(name, "cpu")
    found = lib.read(lib.build(array(np.ones(shape), "float64")))
    assert (found.dtype, found.shape, found.values.shape) == ("float64", shape, shape)


def test_built_arrays_share_no_memory_with_the_request() -> None:
    spec = array(np.zeros(3), "float64")
    for name in ("torch", "numpy"):
        library(name, "cpu").build(spec)[...] = 7.0
    assert not spec.base.any()


@pytest.mark.parametrize("dtype", ["bool", "int64", "int32", "uint8"])
def test_torch_reads_whole_numbers_unchanged(dtype: str) -> None:
    found = TorchArrays().read(TorchArrays().build(array(np.array([0, 1, 1]), dtype)))
    assert found.dtype == dtype
    assert found.values.tolist() == [0, 1, 1]


def test_unknown_dtypes_are_named() -> None:
    assert TorchArrays().read(torch.zeros(2, dtype=torch.complex64)).dtype == "torch.complex64"
    assert NumpyArrays().read(np.zeros(2, dtype=np.complex64)).dtype == "complex64"


@pytest.mark.parametrize("value", [None, 1.0, [1.0], "text"])
def test_results_of_another_kind_are_named(value: Any) -> None:
    kind = type(value).__name__
    for name, wanted in (("torch", "torch.Tensor"), ("numpy", "numpy.ndarray")):
        with pytest.raises(WrongReturn, match=f"expected a {wanted}, got {kind}"):
            library(name, "cpu").read(value)


def test_a_numpy_target_is_not_asked_for_bfloat16() -> None:
    assert Implementation(None, array="numpy").dtypes == ("float32", "float64", "float16")
    with pytest.raises(TargetError, match=r"choose from float32, float64, float16$"):
        Implementation(None, array="numpy", dtypes=("bfloat16",))


def test_numpy_has_no_bfloat16() -> None:
    with pytest.raises(NotImplementedError, match="bfloat16"):
        NumpyArrays().build(array(np.zeros(2), "bfloat16"))


def test_derivatives_of_first_and_second_order() -> None:
    lib = TorchArrays()
    x, y = (lib.differentiable(torch.tensor([3.0, 5.0], dtype=torch.float64)) for _ in range(2))
    ones = torch.ones(2, dtype=torch.float64)
    first, second, graph = lib.gradients(x**3, [x, y], 2 * ones, [ones, ones])
    assert graph
    assert first[0].tolist() == [2 * 27.0, 2 * 75.0]  # 2 * 3 x^2
    assert second[0].tolist() == [2 * 18.0, 2 * 30.0]  # 2 * 6 x
    assert first[1] is None
    assert second[1] is None


def test_no_graph_is_told() -> None:
    lib = TorchArrays()
    x = lib.differentiable(torch.ones(2))
    assert lib.gradients(x.detach() * 2, [x], torch.ones(2), None) == ([None], [None], False)


def test_a_linear_function_has_no_second_derivative() -> None:
    lib = TorchArrays()
    x = lib.differentiable(torch.ones(2))
    first, second, graph = lib.gradients(3 * x, [x], torch.ones(2), [torch.ones(2)])
    assert (first[0].tolist(), second, graph) == ([3.0, 3.0], [None], True)


@pytest.mark.parametrize("x64", [False, True])
def test_jax_arrays(x64: bool) -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed: its arrays are not tested here")
    try:
        lib = library("jax", "cpu", x64)
        for dtype in FLOATS if x64 else [dtype for dtype in FLOATS if dtype != "float64"]:
            found = lib.read(lib.build(array(numbers(), dtype, "padded")))
            assert found.dtype == dtype
            np.testing.assert_array_equal(found.values, numbers())
        assert jax.config.jax_enable_x64 == x64
    finally:
        jax.config.update("jax_enable_x64", False)


def test_a_cotangent_is_handed_over_as_it_lies_and_without_sympy() -> None:
    """torch.autograd.grad with a cotangent of its own imports sympy, which takes longer than many a law."""
    code = (
        "import sys, torch; from attention_core.conformance.worker.arrays import TorchArrays\n"
        "x = torch.ones(2, 3, requires_grad=True); lib = TorchArrays(); told = []\n"
        "y = 2 * x; y.register_hook(lambda g: told.append(g.stride()))\n"
        "first = lib.gradients(y, [x], torch.ones(1).expand(2, 3), None)[0][0]\n"
        "assert first.eq(2).all() and told == [(0, 0)], (first, told)\n"
        "assert 'sympy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
