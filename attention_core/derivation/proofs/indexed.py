"""Polynomials in entries, exponentials and sums over indices.

Normal forms for all sizes at once: entries with symbolic indices, exponentials and roots; a sum is one atom.
Used for PROVED: if the generic entry of the difference reduces to 0, the claim holds at every size.
"""

from __future__ import annotations

import time
from contextvars import ContextVar
from fractions import Fraction
from typing import Any

Atom = tuple[Any, ...]
Mono = tuple[tuple[Atom, Fraction], ...]
Poly = dict[Mono, Fraction]

MAX_TERMS = 400
ENDS: ContextVar[float] = ContextVar("ENDS", default=float("inf"))  # when a proof is given up
ONE: Mono = ()


class CannotProve(Exception):
    """Something here has no rule; nothing is concluded."""


def constant(value: int | Fraction) -> Poly:
    """A number."""
    return {ONE: Fraction(value)} if value else {}


def single(atom: Atom, power: int | Fraction = 1) -> Poly:
    """One atom."""
    return {((atom, Fraction(power)),): Fraction(1)}


def plus(*parts: Poly) -> Poly:
    """A sum."""
    out: Poly = {}
    for part in parts:
        for mono, c in part.items():
            out[mono] = out.get(mono, Fraction(0)) + c
    if len(out) > MAX_TERMS:
        raise CannotProve
    return {m: c for m, c in out.items() if c}


def scale(poly: Poly, factor: Fraction) -> Poly:
    """A multiple."""
    return {m: c * factor for m, c in poly.items()} if factor else {}


def _multiply_monomials(left: Mono, right: Mono) -> Mono:
    powers = dict(left)
    for atom, k in right:
        powers[atom] = powers.get(atom, Fraction(0)) + k
    kept = {}
    for atom, k in powers.items():
        if atom[0] == "delta" and k > 1:
            k = Fraction(1)
        if k:
            kept[atom] = k
    return tuple(sorted(kept.items(), key=repr))


def times(*parts: Poly) -> Poly:
    """A product."""
    out: Poly = {ONE: Fraction(1)}
    for part in parts:
        new: Poly = {}
        if len(out) * len(part) > 64 and time.process_time() > ENDS.get():
            raise CannotProve
        for a, x in out.items():
            for b, y in part.items():
                mono = _multiply_monomials(a, b)
                new[mono] = new.get(mono, Fraction(0)) + x * y
        out = {m: c for m, c in new.items() if c}
        if len(out) > MAX_TERMS:
            raise CannotProve
    return out


def key(poly: Poly) -> Atom:
    """A polynomial as part of an atom."""
    return tuple(sorted(poly.items(), key=repr))


def of_key(found: Atom) -> Poly:
    """The polynomial of a key."""
    return dict(found)


def power(poly: Poly, whole: int) -> Poly:
    """A whole power; of a sum, a negative one is an atom."""
    if whole >= 0:
        return times(*[poly] * whole) if whole <= 8 else _fail()
    if not poly:
        raise CannotProve
    if len(poly) == 1:
        ((mono, c),) = poly.items()
        return {tuple((a, k * whole) for a, k in mono): c**whole}
    common, rest, content = _primitive(poly)
    outside = {tuple((a, k * whole) for a, k in common): content**whole}
    return times(outside, single(("poly", key(rest)), whole))


def _fail() -> Poly:
    raise CannotProve


def _primitive(poly: Poly) -> tuple[Mono, Poly, Fraction]:
    """Common factor, primitive part with first coefficient 1, and that coefficient."""
    tables = [dict(mono) for mono in poly]
    shared = {a: min(t.get(a, Fraction(0)) for t in tables) for a in {a for t in tables for a in t}}
    common = tuple(sorted(((a, k) for a, k in shared.items() if k), key=repr))
    lowered = {_multiply_monomials(m, tuple((a, -k) for a, k in common)): c for m, c in poly.items()}
    content = lowered[min(lowered, key=repr)]
    return common, {m: c / content for m, c in lowered.items()}, content


def exponential(poly: Poly) -> Poly:
    """e^poly: one atom for every monomial, its coefficient as the power; e^(log x) is x."""
    factors = [constant(1)]
    for mono, c in poly.items():
        logarithmic = len(mono) == 1 and mono[0][0][0] == "log" and mono[0][1] == 1 and c.denominator == 1
        factors.append(power(of_key(mono[0][0][1]), int(c)) if logarithmic else single(("exp", mono), c))
    return times(*factors)


def logarithm(poly: Poly) -> Poly:
    """log(poly): exponentials among the factors of a single term come out."""
    if len(poly) != 1:
        return single(("log", key(poly)))
    ((mono, c),) = poly.items()
    outside = plus(*({a[1]: k} for a, k in mono if a[0] == "exp")) if mono else {}
    rest = {tuple((a, k) for a, k in mono if a[0] != "exp"): c}
    return outside if rest == {ONE: Fraction(1)} else plus(outside, single(("log", key(rest))))


def root(poly: Poly) -> Poly:
    """The square root: what is common to all terms and cannot be negative comes out of it."""
    if not poly:
        return {}
    common, rest, content = _primitive(poly)
    if content < 0 or not all(_nonnegative(atom, k) for atom, k in common):
        return single(("sqrt", key(poly)))
    factors: list[Poly] = []
    for atom, k in common:
        if atom[0] == "exp":
            factors.append(single(atom, k / 2))
        elif atom[0] == "x":
            factors.append(single(("abs", key(single(atom))), k / 2))
        else:
            even = Fraction(2 * (k // 2))
            factors += [
                single(atom, even / 2),
                single(("sqrt", key(single(atom, k - even)))) if k != even else constant(1),
            ]
    inside = scale(rest, content)
    return times(*factors, constant(1) if inside == constant(1) else single(("sqrt", key(inside))))


def _nonnegative(atom: Atom, k: Fraction) -> bool:
    """Whether atom^k cannot be negative, by its form."""
    if atom[0] in ("exp", "sqrt", "abs", "size", "count"):
        return True
    if atom[0] == "x":
        return k.denominator == 1 and k % 2 == 0
    if atom[0] == "sum":
        return all(_nonnegative(a, p) for a, p in atom[2])
    if atom[0] == "poly":
        return all(c > 0 and all(_nonnegative(a, p) for a, p in mono) for mono, c in atom[1])
    return False


def without_roots(poly: Poly) -> Poly:
    """Even powers of square roots replaced by powers of what is under them."""
    parts: list[Poly] = []
    for mono, c in poly.items():
        factors: list[Poly] = [constant(c)]
        for atom, k in mono:
            if atom[0] == "sqrt" and k.denominator == 1 and abs(k) >= 2:
                half = int(k / 2)
                factors.append(power(of_key(atom[1]), half))
                k -= 2 * half
            factors.append(single(atom, k) if k else constant(1))
        parts.append(times(*factors))
    return plus(*parts) if parts else {}


def is_zero(poly: Poly) -> bool:
    """Whether a polynomial is 0 after clearing denominators that are sums."""
    for _ in range(10):
        poly = without_roots(poly)
        if not poly:
            return True
        bottoms = {a: k for mono in poly for a, k in mono if a[0] == "poly" and k < 0}
        if not bottoms:
            return False
        atom = min(bottoms, key=repr)
        cleared: list[Poly] = []
        for mono, c in poly.items():
            powers = dict(mono)
            if atom in powers:
                powers[atom] += 1
                cleared.append({tuple(sorted(((a, k) for a, k in powers.items() if k), key=repr)): c})
            else:
                cleared.append(times({mono: c}, of_key(atom[1])))
        poly = plus(*cleared)
    return False
