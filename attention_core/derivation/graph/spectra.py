"""Ranks, pseudo-inverses, eigenvalues and singular values of matrices of numbers: exact where they can be, else balls.

The characteristic polynomial of a rational matrix is factored, so that rational eigenvalues come out exactly and the
others as balls that contain no other root. Of a matrix of balls the eigenvalues are enclosed by FLINT where they are
known to be real, which is so for A^T A and for matrices that are symmetric by their form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cmp_to_key, lru_cache
from typing import Any

from flint import acb_mat, arb, ctx, fmpq, fmpq_mat, fmpz, fmpz_poly

from attention_core.derivation.graph.nodes import TooLarge, Undefined
from attention_core.derivation.graph.numbers import APPLY, Imprecise, Value, ball, exact, square_root_of

LARGEST = 12  # rows and columns of a matrix whose eigenvalues are enclosed
Shape = tuple[int, int]


def _rows(values: Sequence[Value], shape: Shape) -> list[list[Value]]:
    rows, cols = shape
    return [list(values[i * cols : (i + 1) * cols]) for i in range(rows)]


def rank(values: Sequence[Value], shape: Shape) -> Value:
    """The rank; of balls only where it is full for certain."""
    if all(exact(v) for v in values):
        return fmpq(fmpq_mat(*shape, list(values)).rref()[1])
    table, found = _rows(values, shape), 0
    while table and table[0]:
        place = next(((i, j) for i, row in enumerate(table) for j, v in enumerate(row) if _is_nonzero(v)), None)
        if place is None:
            break
        i, j = place
        pivot = table.pop(i)
        table = [
            [a - row[j] / pivot[j] * b for k, (a, b) in enumerate(zip(row, pivot, strict=True)) if k != j]
            for row in table
        ]
        found += 1
    if found == min(shape) or all(exact(v) and v == 0 for row in table for v in row):
        return fmpq(found)
    raise Imprecise


def _is_nonzero(value: Value) -> bool:
    return value != 0 if exact(value) else not value.contains(0)


def pseudo_inverse(values: Sequence[Value], shape: Shape, i: int, j: int) -> Value:
    """One entry of the pseudo-inverse; of balls only where the rank is full for certain."""
    if all(exact(v) for v in values):
        return _pseudo_inverse(tuple((int(v.p), int(v.q)) for v in values), shape)[i, j]
    rows, cols = shape
    if int(rank(values, shape)) < min(shape):
        raise Imprecise
    from flint import arb_mat

    whole = arb_mat(rows, cols, [ball(v) for v in values])
    try:
        inverse = (
            (whole.transpose() * whole).inv() * whole.transpose()
            if rows >= cols
            else (whole.transpose() * (whole * whole.transpose()).inv())
        )
    except ZeroDivisionError:
        raise Imprecise from None
    return inverse[i, j]


@lru_cache(maxsize=256)
def _pseudo_inverse(values: tuple[tuple[int, int], ...], shape: Shape) -> Any:
    """A = C F with independent columns C and independent rows F: A^+ = F^T (F F^T)^-1 (C^T C)^-1 C^T."""
    rows, cols = shape
    whole = fmpq_mat(rows, cols, [fmpq(p, q) for p, q in values])
    reduced, count = whole.rref()
    if count == 0:
        return fmpq_mat(cols, rows, [fmpq(0)] * (rows * cols))
    leads = [next(j for j in range(cols) if reduced[i, j] != 0) for i in range(count)]
    left = fmpq_mat(rows, count, [whole[i, j] for i in range(rows) for j in leads])
    right = fmpq_mat(count, cols, [reduced[i, j] for i in range(count) for j in range(cols)])
    turned = right.transpose() * (right * right.transpose()).inv()
    return turned * (left.transpose() * left).inv() * left.transpose()


def eigenvalues(values: Sequence[Value], n: int, symmetric: bool) -> list[Value]:
    """All eigenvalues, the largest first; `symmetric` says that they are real by the form of the matrix."""
    if n > LARGEST:
        raise TooLarge(f"eigenvalues beyond {LARGEST} x {LARGEST}")
    if all(exact(v) for v in values):
        return _sort(_rational_eigenvalues(tuple((int(v.p), int(v.q)) for v in values), n, ctx.prec))
    if not symmetric:
        raise Imprecise
    try:
        found = acb_mat(n, n, [ball(v) for v in values]).eig(multiple=True)
    except (ValueError, ZeroDivisionError):
        raise Imprecise from None
    return _sort([arb(one.real) for one in found])


@lru_cache(maxsize=512)
def _rational_eigenvalues(values: tuple[tuple[int, int], ...], n: int, bits: int) -> list[Value]:
    """With their multiplicities; raises `Undefined` where one is not real."""
    poly = fmpq_mat(n, n, [fmpq(p, q) for p, q in values]).charpoly()
    whole = fmpz_poly([int(c * poly.denom()) for c in poly.coeffs()])
    out: list[Value] = []
    for factor, times in whole.factor()[1]:
        if factor.degree() == 1:
            out += [fmpq(-fmpz(factor[0]), fmpz(factor[1]))] * times
            continue
        for root, _ in factor.complex_roots():
            if not root.imag.is_zero():
                raise Undefined("an eigenvalue that is not real")
            out += [arb(root.real)] * times
    return out


def _sort(values: list[Value]) -> list[Value]:
    """The largest middle first, however small they are: as floats all of them may be 0."""
    return sorted(values, key=cmp_to_key(lambda a, b: 1 if bool((ball(a) - ball(b)).mid() < 0) else -1))


def singular_values(values: Sequence[Value], shape: Shape) -> list[Value]:
    """The singular values, the largest first: the roots of the eigenvalues of the smaller of A^T A and A A^T."""
    table = _rows(values, shape)
    lines = [list(line) for line in zip(*table, strict=True)] if shape[0] >= shape[1] else table
    squares = [[sum((a * b for a, b in zip(p, q, strict=True)), fmpq(0)) for q in lines] for p in lines]
    found = eigenvalues([v for row in squares for v in row], len(lines), True)
    return [_root(v) for v in found]


def _root(square: Value) -> Value:
    """The root of what cannot be negative."""
    if exact(square) or square > 0:
        return square_root_of(square)
    return arb(0).union(square.upper().sqrt()) if square.upper() > 0 else fmpq(0)


def _choose(found: list[Value], which: Any) -> Value:
    if which == "sum":
        return sum(found[1:], found[0])
    place = {"max": 1, "min": len(found)}.get(which, which)
    if not 1 <= place <= len(found):
        raise Undefined(f"the value {place} of {len(found)} does not exist")
    return _kth(found, place)


def _kth(found: list[Value], place: int) -> Value:
    """The value at a place from the largest; where balls overlap, all that may stand there."""
    value = found[place - 1]
    others = [v for k, v in enumerate(found) if k != place - 1]
    if all((exact(v) and exact(value)) or not ball(v).overlaps(ball(value)) for v in others):
        return value
    lower, upper = (_sort([ends(v) for v in found])[place - 1] for ends in (_lower, _upper))
    return ball(lower).union(ball(upper))


def _lower(value: Value) -> Value:
    return value if exact(value) else value.lower()


def _upper(value: Value) -> Value:
    return value if exact(value) else value.upper()


SPECTRA: dict[str, Callable[[list[Value], Any], Value]] = {
    "rank": rank,
    "pinv": lambda values, data: pseudo_inverse(values, *data),
    "singular": lambda values, data: _choose(singular_values(values, data[0]), data[1]),
    "eigen": lambda values, data: _choose(eigenvalues(values, data[0], data[2]), data[1]),
}
APPLY.update(SPECTRA)
