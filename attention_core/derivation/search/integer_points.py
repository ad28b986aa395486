"""Where two sides in two sizes meet: one size solved for the other, and the solutions of Pell's equation.

Two sides that are to differ may meet at few places, far apart. Where their difference is linear or quadratic in one
size, that size is solved for at each value of the other one, in float64. Where it is A m^2 + B n^2 + C with A B < 0,
large solutions are multiples of convergents of the square root of -B / A (Legendre). A place counts only if the sides
are equal there exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from attention_core.derivation.graph.nodes import TooLarge
from attention_core.derivation.lowering.block_arrays import Unsupported
from attention_core.derivation.search.columns_of_terms import TermColumns
from attention_core.derivation.search.size_sweep import exactly

if TYPE_CHECKING:
    from attention_core.derivation.cases.problem import Problem
    from attention_core.derivation.records import Finding

VALUES = 20_000  # of the size that is not solved for
MOST = 24  # places that are compared exactly, of each way
LARGEST = 10**40  # of a solution of Pell's equation
MULTIPLES = (1, 2, 3)
CLOSE = 1e-12


def integer_points(problem: Problem) -> Finding | None:
    """The finding if the sides of a claim with `!=`, `<` or `>` in two sizes meet somewhere."""
    names = problem.tuples.sizes
    if problem.symbols or problem.tuples.indices or len(names) != 2 or problem.claim.op not in ("!=", "<", ">"):
        return None
    try:
        for one, other in (names, names[::-1]):
            for env in _solve(problem, one, other):
                if found := exactly(problem, env):
                    return found
        for m, n in _pell(_form(problem, names)):
            if found := exactly(problem, {names[0]: m, names[1]: n}):
                return found
    except (Unsupported, TooLarge, KeyError, OverflowError, ValueError):
        return None
    return None


def _difference(problem: Problem, columns: dict[str, Any]) -> tuple[Any, Any]:
    """The difference of the sides, and how large they are."""
    at = TermColumns()
    left, right = (at.of(side, columns) for side in (problem.claim.left, problem.claim.right))
    return left - right, np.maximum(np.abs(left), np.abs(right))


def _solve(problem: Problem, one: str, other: str) -> Iterator[dict[str, int]]:
    """Places where the sides meet, the smallest first: `one` is solved for at each value of `other`."""
    values = np.arange(1, VALUES + 1, dtype=float)
    with np.errstate(all="ignore"):
        at = [_difference(problem, {one: np.full_like(values, k), other: values})[0] for k in range(1, 5)]
        a = (at[2] - 2 * at[1] + at[0]) / 2
        b = at[1] - at[0] - 3 * a
        c = at[0] - a - b
        fits = np.abs(16 * a + 4 * b + c - at[3]) <= CLOSE * (np.abs(at[3]) + np.abs(c) + 1)
        root = np.sqrt(np.maximum(b * b - 4 * a * c, 0))
        found = [np.where(a == 0, -c / b, (-b + sign * root) / (2 * a)) for sign in (1, -1)]
    places = []
    for roots in found:
        whole = np.rint(roots)
        good = fits & np.isfinite(roots) & (whole >= 1) & (np.abs(roots - whole) <= 1e-6 * (1 + np.abs(whole) * 1e-6))
        places += list(zip(whole[good], values[good], strict=True))
    if not places:
        return
    ones, others = (np.array(part) for part in zip(*sorted(set(places), key=sum), strict=True))
    with np.errstate(all="ignore"):
        gap, size = _difference(problem, {one: ones, other: others})
    close = np.flatnonzero(np.abs(np.broadcast_to(gap, ones.shape)) <= CLOSE * np.maximum(size, 1))
    for place in close[:MOST]:
        yield {one: int(ones[place]), other: int(others[place])}


def _form(problem: Problem, names: list[str]) -> tuple[int, int] | None:
    """A and B where the difference is A m^2 + B n^2 + C with whole A and B, else None."""
    first = np.array([1, 2, 3, 4, 1, 1, 2, 3, 5], dtype=float)
    second = np.array([1, 1, 1, 1, 2, 3, 2, 3, 7], dtype=float)
    found = np.broadcast_to(_difference(problem, {names[0]: first, names[1]: second})[0], first.shape)
    a, b = (found[1] - found[0]) / 3, (found[4] - found[0]) / 3
    c = found[0] - a - b
    if not np.isfinite(found).all() or (a * first**2 + b * second**2 + c != found).any():
        return None
    return (int(a), int(b)) if a == int(a) and b == int(b) else None


def _pell(form: tuple[int, int] | None) -> Iterator[tuple[int, int]]:
    """Multiples of the convergents of m / n, where the leading form A m^2 + B n^2 nearly vanishes."""
    if form is None or form[0] * form[1] >= 0:
        return
    below, above = abs(form[0]), abs(form[1])  # m / n is close to the root of above / below = root / below
    square = above * below
    base = isqrt(square)
    if base * base == square:
        return
    p, q, part = 0, below, base // below
    before, now = (1, 0), (part, 1)
    while now[0] < LARGEST:
        for k in MULTIPLES:
            if now[0]:
                yield k * now[0], k * now[1]
        p = part * q - p
        q, rest = divmod(square - p * p, q)
        if rest:
            return
        part = (base + p) // q
        before, now = now, (part * now[0] + before[0], part * now[1] + before[1])


__all__ = ["integer_points"]
