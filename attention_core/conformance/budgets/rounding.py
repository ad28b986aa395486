"""Floating-point formats as numbers: unit roundoff, smallest and largest values, rounding to a format.

Everything is computed in float64, which holds every value of the smaller formats exactly.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

# Half the gap between 1 and the next number: |round(x) - x| <= u |x| in the normal range.
UNIT_ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24, "bfloat16": 2.0**-8, "float16": 2.0**-11}
# The smallest positive number, subnormals included.
TINY = {"float64": 2.0**-1074, "float32": 2.0**-149, "bfloat16": 2.0**-133, "float16": 2.0**-24}
# The smallest positive number of full precision.
SMALLEST_NORMAL = {"float64": 2.0**-1022, "float32": 2.0**-126, "bfloat16": 2.0**-126, "float16": 2.0**-14}
# The largest finite number.
HUGE = {
    "float64": float(np.finfo(np.float64).max),
    "float32": float(np.finfo(np.float32).max),
    "bfloat16": (2.0 - 2.0**-7) * 2.0**127,
    "float16": 65504.0,
}
# The error that a correct kernel may make by underflow. Vector units flush subnormals of the wide
# formats to zero (bfloat16 dot products always do); those of float16 are kept everywhere.
FLUSH = {"float64": 2.0**-1022, "float32": 2.0**-126, "bfloat16": 2.0**-126, "float16": 2.0**-24}


def _round_bits(x: Array, drop: int) -> Array:
    """Round the significand by dropping its last bits, ties to even; overflow carries into infinity."""
    bits = x.view(np.uint64)
    even = (bits >> np.uint64(drop)) & np.uint64(1)
    rounded = (bits + even + np.uint64((1 << (drop - 1)) - 1)) & np.uint64(~((1 << drop) - 1) & (2**64 - 1))
    return np.where(np.isnan(x), x, rounded.view(np.float64))


def round_to(x: npt.ArrayLike, dtype: str) -> Array:
    """The nearest number of a format, ties to even, kept in float64.

    Args: x, any shape; dtype, one of float64, float32, bfloat16, float16.
    Returns: float64 of the same shape; beyond the largest number an infinity, NaN stays NaN, the sign of
    zero stays. Raises: KeyError for another dtype.
    Example:
        >>> float(round_to(1 + 2**-9, "bfloat16"))
        1.0

    Source: IEEE 754-2019, section 4.3.1.
    """
    with np.errstate(invalid="ignore"):  # a signalling NaN
        x = np.asarray(x, dtype=np.float64, order="C")
    if dtype == "float64":
        return x
    if dtype == "float32":
        with np.errstate(over="ignore", under="ignore"):
            return x.astype(np.float32).astype(np.float64)
    normal = _round_bits(x, {"bfloat16": 45, "float16": 42}[dtype])
    with np.errstate(invalid="ignore"):
        normal = np.where(np.abs(normal) > HUGE[dtype], np.copysign(np.inf, x), normal)
        # A sum with 1.5 * 2^52 smallest numbers has no bits below the smallest: it rounds to it.
        magic = 1.5 * 2.0**52 * TINY[dtype]
        subnormal = np.copysign((x + magic) - magic, x)
    return np.where(np.abs(x) < SMALLEST_NORMAL[dtype], subnormal, normal)
