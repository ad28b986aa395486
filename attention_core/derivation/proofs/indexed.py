"""Polynomials in entries, exponentials and sums over indices.

Normal forms for all sizes at once: entries with symbolic indices, exponentials and roots.
Used for PROVED: if the generic entry of the difference reduces to 0, the claim holds at every size.

A sum over symbolic indices is one atom whose name does not depend on what its indices are called; deltas in it
are contracted, what has no index comes out of it, and declared inner products are put in their place.

Derivatives are by one entry with symbolic indices: deltas distinguish the same entry from others, and the
derivative of a sum is a sum with indices of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from fractions import Fraction
from itertools import permutations
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


Index = str | int
Factors = list[tuple[Atom, Fraction]]
Range = tuple[str, str]  # lowest and highest, as text; equal texts are equal ranges
Rule = Callable[[Atom, Atom, Index], "Poly | None"]


def depth(node: Any) -> int:
    """How deep sums are nested in an atom."""
    if not isinstance(node, tuple) or not node:
        return 0
    if node[0] == "sum":
        return 1 + depth(node[2])
    return max(depth(part) for part in node)


def delta(a: Index, b: Index, apart: set[frozenset[Index]]) -> Poly:
    """1 where two indices agree, 0 where they differ."""
    if a == b:
        return constant(1)
    if (isinstance(a, int) and isinstance(b, int)) or frozenset((a, b)) in apart:
        return {}
    first, second = sorted((a, b), key=repr)
    return single(("delta", first, second))


def indices(node: Any) -> set[Index]:
    """The symbolic indices that occur in an atom, a monomial or a key."""
    if isinstance(node, tuple):
        if node and node[0] == "x":
            return {i for i in node[2] if isinstance(i, str)}
        if node and node[0] in ("delta", "value"):
            return {i for i in node[1:] if isinstance(i, str)}
        if node and node[0] == "sum":
            bound = {name for name, _, _ in node[1]}
            return indices(node[2]) - bound
        return {i for part in node for i in indices(part)}
    return set()


def rename_indices(node: Any, names: Mapping[Index, Index]) -> Any:
    """An atom, monomial or key with indices replaced (bound ones have names of their own), in canonical order again."""
    if not isinstance(node, tuple) or not node:
        return node
    if node[0] == "x":
        return ("x", node[1], tuple(names.get(i, i) for i in node[2]))
    if node[0] == "value":
        return ("value", names.get(node[1], node[1]))
    if node[0] == "delta":
        return ("delta", *sorted((names.get(i, i) for i in node[1:]), key=repr))
    if node[0] == "sum":
        return canonical({name: (low, high) for name, low, high in node[1]}, list(rename_indices(node[2], names)))
    if all(isinstance(part, tuple) and len(part) == 2 and isinstance(part[1], Fraction) for part in node):
        merged: dict[Any, Fraction] = {}  # a monomial or a polynomial: what has become equal is taken together
        for part, k in node:
            new = rename_indices(part, names)
            merged[new] = merged.get(new, Fraction(0)) + k
        return tuple(sorted(((part, k) for part, k in merged.items() if k), key=repr))
    return tuple(rename_indices(part, names) for part in node)


def canonical(spans: Mapping[str, Range], atoms: list[tuple[Atom, Fraction]]) -> Atom:
    """The name of a sum that does not depend on the names of its indices."""
    if len(spans) > 5:
        raise CannotProve
    best: Atom | None = None
    level = 1 + max((depth(a) for a, _ in atoms), default=0)  # no sum inside uses the names of this level
    for order in permutations(spans):
        names: dict[Index, Index] = {old: f"#{level}.{place}" for place, old in enumerate(order)}
        body = rename_indices(tuple(atoms), names)
        candidate: Atom = ("sum", tuple((names[old], *spans[old]) for old in order), body)
        if best is None or repr(candidate) < repr(best):
            best = candidate
    assert best is not None
    return best


class Sums:
    """Sums over indices: `ranges` of free ones, `apart` the pairs known to differ, `rules` of declared identities."""

    def __init__(self, ranges: dict[Index, Range], apart: set[frozenset[Index]], rules: list[Rule]) -> None:
        self.ranges, self.apart, self.rules = dict(ranges), apart, rules
        self.count = 0
        self.steps = 0

    def fresh(self, extent: Range) -> str:
        """A new index with its range."""
        self.count += 1
        name = f"_{self.count}"
        self.ranges[name] = extent
        return name

    def rename(self, poly: Poly, names: Mapping[Index, Index]) -> Poly:
        """Replace indices; a delta that becomes trivial is resolved."""
        parts = []
        for mono, c in poly.items():
            factors = [constant(c)]
            for atom, k in mono:
                new = rename_indices(atom, names)
                if new[0] == "delta":
                    factors.append(delta(new[1], new[2], self.apart))
                elif new[0] == "poly":
                    factors.append(power(self.rename(of_key(new[1]), {}), int(k)))
                else:
                    factors.append(single(new, k))
            parts.append(times(*factors))
        return plus(*parts) if parts else {}

    def total(self, index: str, poly: Poly, count: Poly) -> Poly:
        """The sum of `poly` over `index`, whose range has `count` values."""
        return plus(*(self.one(index, mono, c, count) for mono, c in poly.items())) if poly else {}

    def one(self, index: str, mono: Mono, c: Fraction, count: Poly) -> Poly:
        """The sum of one monomial."""
        self.steps += 1
        if self.steps > 4000 or time.process_time() > ENDS.get():
            raise CannotProve
        inside = [(a, k) for a, k in mono if index in indices(a)]
        outside = tuple((a, k) for a, k in mono if index not in indices(a))
        if not inside:
            return times({outside: c}, count)
        for atom, _ in inside:
            if atom[0] == "delta":
                other = atom[2] if atom[1] == index else atom[1]
                if self.ranges.get(other) != self.ranges[index]:
                    raise CannotProve
                rest = tuple(p for p in inside if p[0] != atom)
                return times({outside: c}, self.rename({rest: Fraction(1)}, {index: other}))
        binders, atoms = self.flatten(index, inside)
        return times({outside: c}, self.component(binders, atoms, count))

    def flatten(self, index: str, inside: Factors) -> tuple[list[str], Factors]:
        """Sums inside the sum become part of it, with indices of their own."""
        binders: list[str] = [index]
        atoms: Factors = []
        for atom, k in inside:
            if atom[0] == "sum" and k.denominator == 1 and 0 < k <= 3:
                for _ in range(int(k)):
                    names = {name: self.fresh((low, high)) for name, low, high in atom[1]}
                    binders += list(names.values())
                    atoms += list(rename_indices(atom[2], names))
            else:
                atoms.append((atom, k))
        return binders, atoms

    def component(self, binders: list[str], atoms: list[tuple[Atom, Fraction]], count: Poly) -> Poly:
        """A sum of connected atoms: declared identities are used, then it is named in a canonical way."""
        for name in binders:
            touching = [(a, k) for a, k in atoms if name in indices(a)]
            if sum(k for _, k in touching) != 2 or any(a[0] != "x" for a, _ in touching):
                continue
            pair = [a for a, k in touching for _ in range(int(k))]
            for rule in self.rules:
                found = rule(pair[0], pair[1], name)
                if found is None:
                    found = rule(pair[1], pair[0], name)
                if found is not None:
                    rest = tuple((a, k) for a, k in atoms if name not in indices(a))
                    result = times({rest: Fraction(1)}, found)
                    for other in [b for b in binders if b != name]:
                        result = self.total(other, result, self.extent(other))
                    return result
        return single(canonical({name: self.ranges[name] for name in binders}, atoms))

    def extent(self, index: str) -> Poly:
        """How many values an index has, as an atom (only used where the index occurs)."""
        return single(("count", self.ranges[index]))


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
