"""A large array by the pattern that it has: a few numbers repeated, blocks side by side, an identity.

A program of a few lines can be read; one that holds a megabyte of packed bytes cannot. A pattern is written only where
it gives the array back bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from attention_core.conformance.worker.exchange import NDArray

LEAST = 64
"""Numbers that are written out, as they are or as what repeats; larger arrays are searched for a pattern."""

RUNS, MOST_READ = 6, 4096
"""Runs of one number each that are written one after the other; longer arrays are not looked at."""


def pattern(values: NDArray, library: str, prefix: str, dtype: str, nested: Callable[[NDArray], str]) -> str | None:
    """An expression for an array that repeats itself, or None.

    Args: values, of more than `LEAST` numbers; library, "torch", "numpy" or "jax"; prefix, its name in the program;
        dtype, the argument that names the dtype, or ""; nested, writes a small array as nested lists.
    Example: the numbers 1, 2, 1, 2, ... of shape (40, 2) are "torch.tensor([[1., 2.]]).repeat(40, 1)".
    """
    maker = "tensor" if library == "torch" else "array"
    period = period_of(values.reshape(-1), LEAST)
    shape = tuple(int(n) for n in values.shape)
    inner, times = tile_of(values)
    if inner.size <= LEAST:
        text = f"{prefix}.{maker}({nested(inner)}{dtype})"
    elif (runs := runs_of(inner)) is not None:
        text = f"{prefix}.{maker}({' + '.join(f'{nested(number)} * {n}' for number, n in runs)}{dtype})"
    elif period is not None:
        few = f"{prefix}.{maker}({nested(values.reshape(-1)[:period])}{dtype})"
        if library != "torch":
            return f"{prefix}.resize({few}, {shape})"
        return f"{few}.repeat({-(-values.size // period)})[:{values.size}].reshape({shape})"
    elif is_identity(inner):
        n, m = inner.shape[-2:]
        text = f"{prefix}.eye({n}, {m}{dtype})" + (f".reshape({inner.shape})" if inner.ndim > 2 else "")
    else:
        return None
    if max(times) == 1:
        return text
    return f"{text}.repeat{times}" if library == "torch" else f"{prefix}.tile({text}, {times})"


def tile_of(values: NDArray) -> tuple[NDArray, tuple[int, ...]]:
    """The smallest block that gives the array when it is laid side by side, and how often along each axis.

    Example: tile_of(np.array([1, 2, 1, 2])) is ([1, 2], (2,)).
    """
    times = []
    for axis, count in enumerate(values.shape):
        ahead = np.ascontiguousarray(values.swapaxes(0, axis))
        size = next(m for m in range(1, count + 1) if count % m == 0 and same(ahead[m:], ahead[:-m]))
        values = ahead[:size].swapaxes(0, axis)
        times.append(count // size)
    return values, tuple(times)


def period_of(flat: NDArray, most: int) -> int | None:
    """After how many numbers a flat array starts again, a quarter of it at most; None beyond `most`."""
    lengths = range(1, min(most, flat.size // 4) + 1)
    return next((p for p in lengths if same(flat[p : 4 * p], flat[: 3 * p]) and same(flat[p:], flat[:-p])), None)


def runs_of(flat: NDArray) -> list[tuple[NDArray, int]] | None:
    """The numbers of a flat array, one of each in a row, and how often each follows itself; None where these are many.

    Example: runs_of(np.array([0., 0., 1.])) is [([0.], 2), ([1.], 1)].
    """
    if flat.ndim != 1 or flat.size > MOST_READ:
        return None
    cuts = [k for k in range(1, flat.size) if not same(flat[k : k + 1], flat[k - 1 : k])]
    if len(cuts) >= RUNS:
        return None
    return [(part[:1], len(part)) for part in np.split(flat, cuts)]


def is_identity(block: NDArray) -> bool:
    """Whether a block is one matrix with ones on its diagonal and zeros elsewhere."""
    if block.ndim < 2 or block.size != block.shape[-1] * block.shape[-2] or block.dtype == bool:
        return False
    return same(block.reshape(block.shape[-2:]), np.eye(*block.shape[-2:], dtype=block.dtype))


def same(one: NDArray, other: NDArray) -> bool:
    """Whether two arrays hold the same bits; -0 is not 0."""
    if one.shape != other.shape or one.size == 0:
        return one.shape == other.shape or one.size == other.size == 0
    return one[:1].tobytes() == other[:1].tobytes() and one.tobytes() == other.tobytes()
