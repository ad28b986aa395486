"""How an array becomes easier to read: fewer rows to try in place of all of them, and plainer numbers in their place.

"Plainer" is an order: 0 < 1 < -1 < 2 < small integers < halves < the rest; a case takes each step that still fails.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from attention_core.conformance.worker.exchange import NDArray

FEW = 64
"""Numbers of an array that is made plain one by one."""
FEW_CLOSED = 24
"""Masked entries that are opened one by one."""


def halves(values: NDArray) -> bool:
    """Whether all finite numbers are multiples of 1/2 and small: the friendly numbers of small and shrunk cases."""
    finite = values[np.isfinite(values)]
    return bool(np.all(2 * finite == np.rint(2 * finite)) and np.all(np.abs(finite) < 100))


def parts(count: int) -> list[NDArray]:
    """Index sets to try in place of all `count`: halves, then without a part at either end, then all but one.

    The parts are a quarter, an eighth, and so on: one by one, 513 of 2,049 would be reached too late.
    """
    if count <= 1:
        return []
    every, half = np.arange(count), count // 2
    parts = [every[:half], every[half:]] if count > 3 else []
    if count <= 12:
        return parts + [np.delete(every, i) for i in every]
    size = count // 4
    while size > 1:
        parts += [every[size:], every[:-size]]
        size //= 2
    return parts + [np.delete(every, i) for i in (0, count - 1, half)]


def pick(mask: NDArray | None, keep: NDArray, axis: int) -> NDArray | None:
    """The entries `keep` of a mask along an axis counted from the end; one that is broadcast there stays as it is."""
    if mask is None or mask.ndim < -axis or mask.shape[axis] == 1:
        return mask
    return np.take(mask, keep, axis=axis)


def plainer(values: NDArray) -> Iterator[NDArray]:
    """The same array with plainer numbers: whole first, then a large one by halves, a small one by elements."""
    finite = np.isfinite(values)
    rounded = np.rint(np.where(finite, values, 0.0)) + 0.0  # no -0
    for whole in (0.0, rounded, np.clip(rounded, -1, 1), np.abs(np.where(finite, values, 0.0))):
        new = np.where(finite, whole, values)
        if cost(new) < cost(values):
            yield new
    if values.size > FEW:
        yield from emptier(values)
        return
    for index in np.ndindex(values.shape):
        old = float(values[index])
        for plain in (0.0, 1.0, -1.0, 2.0, float(np.rint(old)) if np.isfinite(old) else 0.0):
            if complexity(plain) < complexity(old):
                new = values.copy()
                new[index] = plain
                yield new


def emptier(values: NDArray) -> Iterator[NDArray]:
    """A large array with zeros in half of its rows or columns that have others, so that halving finds what matters."""
    for axis in (-2, -1):
        others = tuple(a for a in range(values.ndim) if a != values.ndim + axis)
        filled = np.flatnonzero((values != 0).any(axis=others))
        if len(filled) < 2:
            continue
        half = len(filled) // 2
        for emptied in (filled[:-1], filled[:half], filled[half:]):
            new = values.copy()
            new.swapaxes(axis, -1)[..., emptied] = 0.0
            yield new


def opener(mask: NDArray) -> Iterator[NDArray]:
    """A bool mask with fewer masked entries: none, half of them, then a smaller part at a time, then one."""
    closed = np.flatnonzero(~mask)
    sizes = [len(closed)]
    while sizes[-1] > FEW_CLOSED:
        sizes.append(sizes[-1] // 2)
    chunks = [part for size in sizes if size > 1 for part in (closed[:size], closed[-size:])]
    for entries in (*chunks, *closed[:FEW_CLOSED, None]):
        opened = mask.copy()
        opened.reshape(-1)[entries] = True
        yield opened


def complexity(x: float) -> float:
    """How hard a number is to read: 0 < 1 < -1 < 2 < small integers < halves < the rest."""
    if x == 0:
        return 0.0
    if not np.isfinite(x):
        return 3.0
    if x == np.rint(x) and abs(x) < 100:
        return 1.0 + abs(x) / 100 + (0.005 if x < 0 else 0.0)
    return 4.0 if 2 * x == np.rint(2 * x) and abs(x) < 100 else 5.0


def cost(values: NDArray) -> float:
    """`complexity`, roughly, summed over an array at once: 0 for zeros, about 1 for small integers, 5 for the rest."""
    zero, finite = values == 0, np.isfinite(values)
    whole = finite & (values == np.rint(values)) & (np.abs(values) < 100)
    cost = np.where(zero, 0.0, np.where(whole, 1.0 + np.abs(np.where(whole, values, 0)) / 100, 5.0))
    return float(np.sum(cost + 0.005 * (values < 0)))
