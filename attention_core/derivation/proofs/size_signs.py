"""Signs of polynomials in sizes and of sums over indices.

Inequalities for all sizes: what stays of the difference is a sum of things that cannot be negative.
Sizes are written as their smallest value and what is above it; a coefficient below 0 leaves the claim open.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from fractions import Fraction
from math import comb

from attention_core.derivation.lowering.spaces import Tuples
from attention_core.derivation.proofs.all_sizes import SHARE, entries_under
from attention_core.derivation.proofs.contradiction import linear
from attention_core.derivation.proofs.indexed import ENDS, Atom, CannotProve, Mono, Poly, plus, scale
from attention_core.derivation.terms.context import Context
from attention_core.derivation.terms.relevance import relation_names
from attention_core.derivation.terms.terms import Relation

RULE = "sign of the difference: no coefficient is negative when each size is its smallest value and more"
SURE = 40  # smallest values up to here are found by trying every one
MAX_DEGREE = 40
Powers = tuple[tuple[str, int], ...]


def ordered_at_all_sizes(
    context: Context, claim: Relation, hypotheses: Sequence[Relation], tuples: Tuples, seconds: float = 8.0
) -> bool:
    """Whether an inequality between numbers holds at all sizes and values, by the signs of the difference's terms.

    Example: n <= n^2 has n^2 - n = (1 + m)^2 - (1 + m) = m + m^2 with n = 1 + m.
    """
    if claim.op not in ("<=", ">=", "<", ">") or not (claim.left.type.scalar and claim.right.type.scalar):
        return False
    before = ENDS.set(time.process_time() + SHARE * seconds)
    try:
        entries = entries_under(context, hypotheses, tuples)
        low, high = entries.number(claim.left, {}), entries.number(claim.right, {})
        if claim.op in (">", ">="):
            low, high = high, low
        return _never_negative(plus(high, scale(low, Fraction(-1))), tuples, strict=claim.op in ("<", ">"))
    except (CannotProve, RecursionError, ZeroDivisionError, KeyError):
        return False
    finally:
        ENDS.reset(before)


def _never_negative(poly: Poly, tuples: Tuples, strict: bool) -> bool:
    """Whether every part of a difference is a non-negative one times a polynomial in sizes that is as well."""
    groups: dict[Mono, dict[Powers, Fraction]] = {}
    for mono, c in poly.items():
        rest = tuple((a, k) for a, k in mono if a[0] != "size")
        powers = {str(a[1]): k for a, k in mono if a[0] == "size"}
        if any(k.denominator != 1 for k in powers.values()):
            return False
        table = groups.setdefault(rest, {})
        table[tuple(sorted((n, int(k)) for n, k in powers.items()))] = c
    if not all(_positive(rest) for rest in groups):
        return False
    shifted = {rest: _shift(table, tuples) for rest, table in groups.items()}
    if any(c < 0 for table in shifted.values() for c in table.values()):
        return False
    return not strict or shifted.get((), {}).get((), Fraction(0)) > 0


def _shift(table: dict[Powers, Fraction], tuples: Tuples) -> dict[Powers, Fraction]:
    """A polynomial in sizes, times powers of them, with n = lowest + m."""
    names = {n for powers in table for n, _ in powers}
    least = {n: min(0, *(dict(p).get(n, 0) for p in table)) for n in names}
    out: dict[Powers, Fraction] = {}
    for powers, c in table.items():
        parts: dict[Powers, Fraction] = {(): c}
        for name in sorted(names):
            low, k = tuples.lowest(name), dict(powers).get(name, 0) - least[name]
            if k > MAX_DEGREE:
                raise CannotProve
            start = low if low <= SURE or _interval(tuples, name) else 1
            new: dict[Powers, Fraction] = {}
            for have, value in parts.items():
                for j in range(k + 1):
                    key = (*have, (name, j)) if j else have
                    new[key] = new.get(key, Fraction(0)) + value * comb(k, j) * start ** (k - j)
            parts = new
        for powers_of, value in parts.items():
            out[powers_of] = out.get(powers_of, Fraction(0)) + value
    return out


def _interval(tuples: Tuples, name: str) -> bool:
    """Whether the conditions on one size alone leave an interval, so that its smallest value is found for certain."""
    own = [r for r in tuples.conditions if relation_names(tuples.context, r) == {name}]
    return all(r.op != "!=" and linear(r.left) is not None and linear(r.right) is not None for r in own)


def _positive(factors: Sequence[tuple[Atom, Fraction]]) -> bool:
    """Whether a product of atoms cannot be negative where it is defined."""
    return all(_atom(atom) or (k.denominator == 1 and k % 2 == 0) for atom, k in factors)


def _atom(atom: Atom) -> bool:
    if atom[0] == "sum":
        return _positive(atom[2])
    if atom[0] == "poly":
        return all(c > 0 and _positive(mono) for mono, c in atom[1])
    return atom[0] in ("exp", "abs", "sqrt", "size", "count", "delta", "relu")
