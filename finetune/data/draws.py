"""Random numbers as a function: the same (seed, epoch, example, number) always gives the same draw.

A generator with a state makes an example depend on which worker drew before it; here nothing has a state.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Keys = npt.NDArray[np.uint64]
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def mix(x: Keys) -> Keys:
    """The finaliser of SplitMix64: a bijection of 64-bit words that sends neighbours far apart.

    Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators" (2014), figure 16, with
        Stafford's constants (mix13).
    """
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def keys(seed: int, epoch: int, indices: npt.ArrayLike) -> Keys:
    """One 64-bit key for every example of an epoch.

    Args: seed, epoch, whole numbers; indices (B,), places of the examples in the data. Returns: (B,) uint64.
    Example:
        >>> bool(keys(0, 3, [7])[0] == keys(0, 3, [5, 7])[1])  # the batch around an example does not matter
        True
    """
    with np.errstate(over="ignore"):
        start = mix(np.asarray([seed], np.int64).astype(np.uint64) + GOLDEN)
        start = mix(start + np.asarray([epoch], np.int64).astype(np.uint64) * GOLDEN + GOLDEN)
        return mix(start + np.asarray(indices, np.int64).astype(np.uint64) * GOLDEN)


def uniform(of: Keys, number: int | npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Draw `number` of every key, uniform on [0, 1): a multiple of 2^-53.

    Args: of (...), keys; number, which draw, whole numbers that broadcast against `of`. Returns: the broadcast shape.
    Example:
        >>> key = keys(0, 3, [7])
        >>> bool((uniform(key, 0) == uniform(key, 0)).all()), bool((uniform(key, 0) == uniform(key, 1)).all())
        (True, False)
    """
    with np.errstate(over="ignore"):
        word = mix(of + (np.asarray(number, np.int64).astype(np.uint64) + np.uint64(1)) * GOLDEN)
    return np.asarray((word >> np.uint64(11)) * 2.0**-53, np.float64)


def integer(of: Keys, number: int, low: npt.ArrayLike, high: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Draw `number` of every key, uniform on {low, ..., high}, both included.

    A range of size s misses uniformity by less than s 2^-53.

    Example:
        >>> sorted(set(integer(keys(0, 0, range(100)), 0, 1, 6).tolist()))  # a die for each key
        [1, 2, 3, 4, 5, 6]
    """
    low, high = np.asarray(low, np.int64), np.asarray(high, np.int64)
    return np.asarray(low + np.floor(uniform(of, number) * (high - low + 1)), np.int64)
