"""Derivatives of polynomials in entries and sums.

Derivatives of polynomials by one entry with symbolic indices: the same entry is told from others by deltas, and the
derivative of a sum is a sum with indices of its own.
"""

from __future__ import annotations

from fractions import Fraction

from attention_core.derivation.proofs.indexed import (
    Atom,
    CannotProve,
    Poly,
    constant,
    plus,
    power,
    scale,
    single,
    times,
)
from attention_core.derivation.proofs.indexed_sums import Index, Sums, delta, rename_indices

Place = tuple[str, tuple[Index, ...]]  # an entry: the name of its array, its indices


def slope(sums: Sums, poly: Poly, by: Place) -> Poly:
    """The derivative of a polynomial by one entry."""
    parts: list[Poly] = []
    for mono, c in poly.items():
        for place, (atom, k) in enumerate(mono):
            inner = _of_atom(sums, atom, k, by)
            if inner:
                rest = tuple(p for q, p in enumerate(mono) if q != place)
                parts.append(times({rest: c}, inner))
    return plus(*parts) if parts else {}


def _of_atom(sums: Sums, atom: Atom, k: Fraction, by: Place) -> Poly:
    """The derivative of atom^k."""
    lowered: Poly = constant(k) if k == 1 else {((atom, k - 1),): k}
    if atom[0] == "x":
        if atom[1] != by[0]:
            return {}
        return times(lowered, *(delta(a, b, sums.apart) for a, b in zip(atom[2], by[1], strict=True)))
    if atom[0] == "exp":
        return times({((atom, k),): k}, slope(sums, {atom[1]: Fraction(1)}, by))
    if atom[0] == "poly":
        return times(lowered, slope(sums, dict(atom[1]), by))
    if atom[0] == "sum":
        return times(lowered, _of_sum(sums, atom, by))
    if atom[0] in ("size", "delta", "count", "value"):
        return {}
    if atom[0] in ("log", "sqrt") and k == 1:
        inner = dict(atom[1])
        over = power(inner, -1) if atom[0] == "log" else scale(single(atom, -1), Fraction(1, 2))
        return times(over, slope(sums, inner, by))
    if atom[0] in ("log", "sqrt", "abs", "sin", "cos", "relu", "sign") and not slope(sums, dict(atom[1]), by):
        return {}
    raise CannotProve


def _of_sum(sums: Sums, atom: Atom, by: Place) -> Poly:
    """The derivative under a sum."""
    names: dict[Index, Index] = {name: sums.fresh((low, high)) for name, low, high in atom[1]}
    result = slope(sums, {tuple(rename_indices(atom[2], names)): Fraction(1)}, by)
    for index in names.values():
        result = sums.total(str(index), result, sums.extent(str(index)))
    return result
