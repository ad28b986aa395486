"""Sums over indices, renamed and contracted.

Sums over symbolic indices: a sum is one atom whose name does not depend on what its indices are called; deltas in it
are contracted, what has no index comes out of it, and declared inner products are put in their place.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import permutations
from typing import Any

from attention_core.derivation.proofs.indexed import (
    ENDS,
    Atom,
    CannotProve,
    Mono,
    Poly,
    constant,
    of_key,
    plus,
    power,
    single,
    times,
)

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
