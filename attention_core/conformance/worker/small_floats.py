"""Numbers of one byte with a sign, an exponent and a fraction: float8 as quantised keys and values are stored.

NumPy has none; they travel as their bits.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

NDArray = npt.NDArray[Any]
FORMATS = {"float8_e4m3fn": (4, 3, False), "float8_e5m2": (5, 2, True)}
"""Bits of the exponent and of the fraction, and whether the highest exponent stands for infinity and NaN alone."""
MOST_BITS = 0x80
"""So many patterns of bits have no sign."""


@cache
def values_by_bits(dtype: str) -> NDArray:
    """The 256 numbers of a format, each at the place that its bits say.

    Example:
        >>> values_by_bits("float8_e4m3fn")[[0x38, 0xC0, 0x7E, 0x01]].tolist()
        [1.0, -2.0, 448.0, 0.001953125]

    Source: Micikevicius et al., FP8 Formats for Deep Learning (2022), table 1.
    """
    exponents, fraction, has_infinity = FORMATS[dtype]
    bias, parts = 2 ** (exponents - 1) - 1, 2**fraction
    positive = np.empty(MOST_BITS)
    for bits in range(MOST_BITS):
        exponent, rest = divmod(bits, parts)
        positive[bits] = 2.0 ** (max(exponent, 1) - bias) * (rest / parts + (exponent > 0))
    if has_infinity:
        positive[-parts:] = np.nan
        positive[-parts] = np.inf
    else:
        positive[-1] = np.nan
    return np.concatenate([positive, -positive])


def encode_float8(values: NDArray, dtype: str) -> NDArray:
    """The bits of the nearest numbers of a format; beyond the largest one that one, NaN stays NaN.

    Example:
        >>> encode_float8(np.array([1.0, -2.1, 1e9]), "float8_e4m3fn").tolist()
        [56, 192, 126]
    """
    known = values_by_bits(dtype)[:MOST_BITS]
    finite = known[np.isfinite(known)]
    size = np.abs(np.asarray(values, dtype=np.float64))
    bits = np.searchsorted((finite[1:] + finite[:-1]) / 2, np.where(np.isnan(size), 0.0, size)).astype(np.uint8)
    bits = np.where(np.isnan(size), np.uint8(MOST_BITS - 1), bits)
    return np.asarray(bits | np.where(np.signbit(values), np.uint8(MOST_BITS), np.uint8(0)), dtype=np.uint8)


def decode_float8(bits: NDArray, dtype: str) -> NDArray:
    """The numbers that bits stand for, in float64."""
    return np.asarray(values_by_bits(dtype)[bits])
