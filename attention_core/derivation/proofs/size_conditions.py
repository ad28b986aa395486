"""Certified contradictions among sizes.

Conditions among sizes and indices alone that nothing satisfies, by elimination of one variable after the other.
Whole numbers are rounded on the way, so that 2 n = 7 is seen; what stays open is not called impossible.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import floor, gcd, lcm

from attention_core.derivation.lowering.spaces import Tuples
from attention_core.derivation.terms.terms import Relation, Size, Term

MAX_ROWS = 300
Row = tuple[tuple[tuple[str, int], ...], int]  # sum of coefficient * name + constant >= 0
Linear = dict[str, Fraction]  # "" is the constant


def no_sizes(tuples: Tuples) -> bool:
    """Whether it is certain that no sizes and indices satisfy the conditions among them.

    Source: Fourier and Motzkin's elimination over the rationals, each row rounded for whole numbers (Gomory).
    """
    rows = {row for row in _rows(tuples) if row is not None}
    for name in [*tuples.indices, *tuples.sizes]:
        if any(not terms and constant < 0 for terms, constant in rows):
            return True
        above = [r for r in rows if dict(r[0]).get(name, 0) > 0]
        below = [r for r in rows if dict(r[0]).get(name, 0) < 0]
        rows = {r for r in rows if not dict(r[0]).get(name, 0)}
        if len(rows) + len(above) * len(below) > MAX_ROWS:
            return False
        rows |= {_eliminate(a, b, name) for a, b in product(above, below)}
    return any(not terms and constant < 0 for terms, constant in rows)


def _rows(tuples: Tuples) -> Iterator[Row | None]:
    for name in tuples.sizes:
        yield (((name, 1),), -1)
    for name in tuples.indices:
        symbol = tuples.context.symbols[name]
        assert symbol.lowest is not None and symbol.highest is not None
        own: Linear = {name: Fraction(1)}
        low, high = _of_size(symbol.lowest), _of_size(symbol.highest)
        yield None if low is None else _row(_less(own, low))
        yield None if high is None else _row(_less(high, own))
    for relation in tuples.conditions:
        yield from _of_relation(relation)


def _of_relation(relation: Relation) -> Iterator[Row | None]:
    left, right = linear(relation.left), linear(relation.right)
    if left is None or right is None or relation.where:
        return
    if relation.op in (">=", ">", "="):
        yield _row(_less(left, right), strict=relation.op == ">")
    if relation.op in ("<=", "<", "="):
        yield _row(_less(right, left), strict=relation.op == "<")


def _less(left: Linear, right: Linear) -> Linear:
    return {n: left.get(n, Fraction(0)) - right.get(n, Fraction(0)) for n in {*left, *right}}


def _row(form: Linear, strict: bool = False) -> Row:
    """A row of whole coefficients without common factor; `>` among whole numbers is at least one more."""
    scale = lcm(*(c.denominator for c in form.values()))
    whole = {n: int(c * scale) for n, c in form.items()}
    constant = whole.pop("", 0) - (1 if strict else 0)
    terms = {n: c for n, c in whole.items() if c}
    common = gcd(*terms.values()) if terms else 1
    return tuple(sorted((n, c // common) for n, c in terms.items())), floor(Fraction(constant, common))


def _eliminate(above: Row, below: Row, name: str) -> Row:
    up, down = dict(above[0])[name], -dict(below[0])[name]
    names = {n for n, _ in (*above[0], *below[0])}
    form = {n: Fraction(dict(above[0]).get(n, 0) * down + dict(below[0]).get(n, 0) * up) for n in names}
    return _row({**form, "": Fraction(above[1] * down + below[1] * up)})


def _of_size(size: Size) -> Linear | None:
    out: Linear = {}
    for monomial, c in size.terms:
        if monomial and (len(monomial) > 1 or monomial[0][1] != 1):
            return None
        out[monomial[0][0] if monomial else ""] = c
    return out


def linear(term: Term) -> Linear | None:
    """A term among sizes and indices as a linear form, None if it is none."""
    if term.op == "const":
        return {"": Fraction(term.data)}
    if term.op == "int":
        return {str(term.data): Fraction(1)}
    if term.op == "size":
        return _of_size(term.data)
    parts = [linear(a) for a in term.args]
    if any(p is None for p in parts):
        return None
    forms = [p for p in parts if p is not None]
    if term.op == "neg":
        return _less({}, forms[0])
    if term.op == "add":
        total: Linear = {}
        for form in forms:
            total = _less(total, _less({}, form))
        return total
    if term.op == "mul" and len(forms) == 2:
        number, form = forms if not forms[0].keys() - {""} else forms[::-1]
        return None if number.keys() - {""} else {n: c * number.get("", Fraction(0)) for n, c in form.items()}
    if term.op == "div" and not forms[1].keys() - {""} and forms[1].get(""):
        return {n: c / forms[1][""] for n, c in forms[0].items()}
    return None
