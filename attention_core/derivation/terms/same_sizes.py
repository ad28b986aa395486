"""Sizes made equal by hypotheses.

Sizes that hypotheses make equal, such as E = h d: shapes are written in the sizes that are left, so that they fit.
Equations between polynomials are solved for one size each; what is not solved never refutes a shape.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from attention_core.derivation.effort import on_time
from attention_core.derivation.terms.context import Context, Symbol
from attention_core.derivation.terms.terms import ONE, Relation, Size, Term, Type

MOST_POWER, MOST_TERMS = 8, 60  # of a size that is written in others
Table = Mapping[str, Size]


def equal_sizes(context: Context, extra: Iterable[Relation] = ()) -> dict[str, Size]:
    """The sizes that equations among sizes settle, each as a polynomial in the others."""
    table: dict[str, Size] = {}
    for relation in (*(h.relation for h in context.hypotheses), *extra):
        if relation.op != "=" or relation.over or relation.where or not relation.left.type.scalar:
            continue
        left, right = _size(context, relation.left), _size(context, relation.right)
        if left is None or right is None:
            continue
        solved = _solve_equation(_rewrite_size(left + (-right), table))
        if solved is not None:
            name, size = solved
            table = {**{n: _rewrite_size(s, {name: size}) for n, s in table.items()}, name: size}
    return table


def with_same_sizes(context: Context, extra: Sequence[Relation] = ()) -> Context:
    """The context with every shape written in sizes that no equation settles; the same one if there is no equation."""
    table = equal_sizes(context, extra)
    if not table:
        return context
    view = context.copy()
    view.same = table
    view.symbols = {name: _restate(symbol, table) for name, symbol in context.symbols.items()}
    return view


def _rewrite_size(size: Size, table: Table) -> Size:
    """A size with those of the table replaced; as it is where a quotient cannot be written, or would be too long."""
    on_time()
    powers = [abs(k) for monomial, _ in size.terms for name, k in monomial if name in table]
    if not powers or max(powers) > MOST_POWER or len(size.terms) > MOST_TERMS:
        return size
    total = Size.number(0)
    for monomial, c in size.terms:
        part = Size.number(c)
        for name, power in monomial:
            factor = table.get(name, Size.symbol(name))
            found = factor if power > 0 else factor.inverse()
            if found is None:
                return size
            for _ in range(abs(power)):
                part = part * found
        total = total + part
    return total


def same_size(context: Context, size: Size) -> Size:
    """A size, written in those that no equation settles."""
    return _rewrite_size(size, context.same) if context.same else size


def _solve_equation(difference: Size) -> tuple[str, Size] | None:
    """A size that an equation `difference = 0` gives, and what it is; polynomials before quotients."""
    found = [*_alone(difference), *_within_product(difference)]
    found = [(name, size) for name, size in found if size.terms and size != ONE]
    return min(found, key=lambda one: _awkward(one[1])) if found else None


def _alone(difference: Size) -> list[tuple[str, Size]]:
    """Sizes that stand alone in one term and in no other."""
    found = []
    for monomial, c in difference.terms:
        if len(monomial) == 1 and monomial[0][1] == 1:
            name = monomial[0][0]
            rest = Size.of({m: -other / c for m, other in difference.terms if m != monomial})
            if name not in rest.symbols():
                found.append((name, rest))
    return found


def _within_product(difference: Size) -> list[tuple[str, Size]]:
    """Sizes of one product that equals another."""
    if len(difference.terms) != 2:
        return []
    (first, a), (second, b) = difference.terms
    inverse = Size.of({second: Fraction(1)}).inverse()
    if inverse is None or a * b > 0:
        return []
    ((quotient, _),) = (Size.of({first: Fraction(1)}) * inverse).terms  # equals -b / a
    found = []
    for name, power in quotient:
        if abs(power) == 1:
            rest = tuple((n, -k * power) for n, k in quotient if n != name)
            found.append((name, Size.of({rest: (-b / a) ** power})))
    return found


def _awkward(size: Size) -> tuple[bool, bool, int]:
    quotients = any(k < 0 for monomial, _ in size.terms for _, k in monomial)
    return quotients, any(c.denominator > 1 or c < 0 for _, c in size.terms), len(size.terms)


def _size(context: Context, term: Term) -> Size | None:
    """A term made of sizes as a size, None of any other."""
    op, args = term.op, term.args
    if op == "const":
        return Size.number(term.data)
    if op == "size":
        return term.data if isinstance(term.data, Size) else None
    if op == "int":
        symbol = context.symbols.get(term.data)
        return Size.symbol(term.data) if symbol is not None and symbol.kind == "size" else None
    if op not in ("add", "neg", "mul", "div", "pow"):
        return None
    parts = [_size(context, a) for a in args]
    known = [p for p in parts if p is not None]
    return _combine(op, known) if len(known) == len(parts) else None


def _combine(op: str, parts: list[Size]) -> Size | None:
    if op == "neg":
        return -parts[0]
    if op == "add":
        total = Size.number(0)
        for part in parts:
            total = total + part
        return total
    if op == "mul":
        return parts[0] * parts[1]
    if op == "div":
        over = parts[1].inverse()
        return None if over is None else parts[0] * over
    to = parts[1].constant
    if to is None or to.denominator != 1 or not 1 <= to <= 4:
        return None
    found = ONE
    for _ in range(int(to)):
        found = found * parts[0]
    return found


def _restate(symbol: Symbol, table: Table) -> Symbol:
    """A symbol whose shape is written in the sizes that are left."""
    if symbol.type is not None:
        return replace(symbol, type=_type(symbol.type, table))
    if symbol.term is not None:
        term = symbol.term
        return replace(symbol, term=Term(term.op, term.args, _type(term.type, table), term.data))
    return symbol


def _type(kind: Type, table: Table) -> Type:
    if kind.kind != "matrix":
        return kind
    rows, cols = _rewrite_size(kind.rows, table), _rewrite_size(kind.cols, table)
    return kind if (rows, cols) == (kind.rows, kind.cols) else Type("matrix", rows, cols)


__all__ = ["equal_sizes", "same_size", "with_same_sizes"]
