"""Tests of attention_core.conformance.budgets.rounding.

Rounding to a format against torch's own casts, bit for bit, at every number and every midpoint.
float32 inputs keep torch from rounding twice on its way from float64.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attention_core.conformance.budgets import rounding

KINDS = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}


def same_bits(got: np.ndarray, wanted: torch.Tensor) -> None:
    expected = wanted.double().numpy()
    np.testing.assert_array_equal(got, expected)
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got)[number], np.signbit(expected)[number])


def neighbourhoods(dtype: torch.dtype) -> np.ndarray:
    """All 65536 numbers of a 16-bit format, the midpoints between them, and the float32 beside each."""
    bits = torch.arange(-(2**15), 2**15).to(torch.int16)
    numbers = bits.view(dtype).float().numpy()
    finite = np.sort(numbers[np.isfinite(numbers)]).astype(np.float64)
    half = ((finite[1:] + finite[:-1]) / 2).astype(np.float32)
    points = np.concatenate([numbers, half])
    with np.errstate(invalid="ignore"):  # some of the numbers are signalling NaNs
        return beside(points)


def beside(points: np.ndarray) -> np.ndarray:
    """Points with the float32 above and below each."""
    up, down = np.nextafter(points, np.float32(np.inf)), np.nextafter(points, np.float32(-np.inf))
    return np.concatenate([points, up, down])


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_sixteen_bits_at_every_number_and_midpoint(dtype: str) -> None:
    points = neighbourhoods(KINDS[dtype])
    assert np.isnan(points).any() and np.isinf(points).any() and len(points) > 3 * 2**16
    same_bits(rounding.round_to(points, dtype), torch.tensor(points).to(KINDS[dtype]))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_float64_is_rounded_once(dtype: str) -> None:
    # Just above a midpoint by less than float32 can hold: rounding twice would go to the even side below.
    u = rounding.UNIT_ROUNDOFF[dtype]
    assert rounding.round_to(1.0, dtype).shape == () and rounding.round_to([[1.0]], dtype).shape == (1, 1)
    assert rounding.round_to(1 + u + 2.0**-40, dtype) == 1 + 2 * u
    assert rounding.round_to(1 + u, dtype) == 1.0
    signalling = np.uint64(0x7FF0000000000001).view(np.float64)  # its only bit is rounded away
    assert np.isnan(rounding.round_to(signalling, dtype))
    tiny = rounding.TINY[dtype]
    assert rounding.round_to(tiny / 2 + tiny * 2.0**-40, dtype) == tiny
    assert rounding.round_to(tiny / 2, dtype) == 0.0 and rounding.round_to(1.5 * tiny, dtype) == 2 * tiny


def test_float32_and_float64() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=100000) * 2.0 ** rng.integers(-160, 128, size=100000)
    x = np.concatenate([x, [0.0, -0.0, np.inf, -np.inf, np.nan, 1e300, -1e300, 1e-320]])
    same_bits(rounding.round_to(x, "float32"), torch.tensor(x).float())
    np.testing.assert_array_equal(rounding.round_to(x, "float64"), x)


@pytest.mark.parametrize("dtype", list(rounding.UNIT_ROUNDOFF))
def test_constants_are_those_of_torch(dtype: str) -> None:
    info = torch.finfo(getattr(torch, dtype))
    assert rounding.UNIT_ROUNDOFF[dtype] == info.eps / 2
    assert rounding.SMALLEST_NORMAL[dtype] == info.smallest_normal and rounding.HUGE[dtype] == info.max
    assert rounding.TINY[dtype] == info.smallest_normal * info.eps
    with pytest.raises(KeyError):
        rounding.round_to(1.0, "float8")
