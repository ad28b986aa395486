"""The numbers of float8 are torch's, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attention_core.conformance.worker.arrays import NumpyArrays, TorchArrays
from attention_core.conformance.worker.exchange import array, decode
from attention_core.conformance.worker.small_floats import FORMATS, encode_float8, values_by_bits


@pytest.mark.parametrize("dtype", FORMATS)
def test_every_pattern_of_bits_is_torch_s_number(dtype: str) -> None:
    bits = torch.arange(256, dtype=torch.uint8)
    theirs = bits.view(getattr(torch, dtype)).double().numpy()
    np.testing.assert_array_equal(values_by_bits(dtype), theirs)
    finite = np.isfinite(theirs)
    np.testing.assert_array_equal(encode_float8(theirs[finite], dtype), bits.numpy()[finite])


@pytest.mark.parametrize("dtype", FORMATS)
def test_numbers_between_two_go_to_the_nearer(dtype: str) -> None:
    numbers = np.random.default_rng(0).standard_normal(200) * 20
    nearest = torch.tensor(numbers).to(getattr(torch, dtype)).double().numpy()
    np.testing.assert_array_equal(decode(encode_float8(numbers, dtype), dtype), nearest)


@pytest.mark.parametrize("dtype", ["int8", *FORMATS])
@pytest.mark.parametrize("view", ["contiguous", "transposed", "sliced", "padded", "offset"])
def test_stored_numbers_are_built_as_they_are_described(view: str, dtype: str) -> None:
    numbers = (
        np.array([[[-128.0, 2.0, 0.5], [1.0, 0.0, -6.0]]]).round() if dtype == "int8" else np.ones((1, 2, 3)) * 1.5
    )
    spec = array(numbers, dtype, view)
    tensor = TorchArrays().build(spec)
    assert tensor.dtype == getattr(torch, dtype) and tensor.stride() == spec.strides
    np.testing.assert_array_equal(tensor.double().numpy(), numbers)


def test_numpy_has_no_float8() -> None:
    with pytest.raises(NotImplementedError, match="NumPy has no float8_e5m2"):
        NumpyArrays().build(array(np.ones(3), "float8_e5m2"))
