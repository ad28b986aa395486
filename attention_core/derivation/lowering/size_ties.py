"""Nonlinear conditions among sizes, and numbers worth trying.

Conditions among sizes and indices with powers, roots or logarithms, and the numbers that conditions and claims name.
Such a condition is evaluated at whole numbers; nothing about it is assumed beyond that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from math import ceil, floor, isqrt

from flint import fmpq

from attention_core.derivation.graph.nodes import TooLarge, Undefined
from attention_core.derivation.graph.numbers import COMPARE, Imprecise, evaluate, exact, precision, sign_of
from attention_core.derivation.lowering.lower import Infeasible, Lowering
from attention_core.derivation.terms.context import Context
from attention_core.derivation.terms.terms import Relation, Term

BITS = (128, 1024)
HIGHEST = 10**60  # no number above is worth trying
UNFIXED = frozenset({"int", "size", "leaf", "member", "expect", "limit", "infinity", "bind", "reduce", "entry"})
FEW = 3  # fewer small tuples than this call for a search among larger ones
TRIED = 2_000  # tuples looked at in that search


def is_met(low: Lowering, relation: Relation) -> bool:
    """Whether a condition on sizes and indices holds at those of `low`; where that is unknown, it counts as holding."""
    try:
        node = low.graph.sub(low.number(relation.left), low.number(relation.right))
    except (Infeasible, Undefined, ZeroDivisionError):
        return False
    except TooLarge:
        return True
    for bits in BITS:
        try:
            with precision(bits):
                (found,) = evaluate(low.graph, [node], {})
                return COMPARE[relation.op](sign_of(found))
        except Imprecise:
            continue
        except (Undefined, ZeroDivisionError):
            return False
        except TooLarge:
            return True
    return True


def constants(context: Context, relations: Iterable[Relation], highest: int = HIGHEST) -> list[Fraction]:
    """The numbers that relations name: every part without symbols, such as 10^7, to 30 bits where it is irrational."""
    found: dict[Fraction, None] = {}
    for relation in relations:
        for side in (relation.left, relation.right):
            for part in _find_closed_terms(side):
                value = _value(context, part, highest)
                if value is not None and abs(value) <= highest:
                    found[value] = None
    return list(found)


def _find_closed_terms(term: Term) -> Iterator[Term]:
    """The numbers in a term, and the largest parts of it that no symbol occurs in; what is shared is looked at once."""
    symbolic = _symbolic(term)
    seen: set[int] = set()
    stack = [term]
    while stack:
        part = stack.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if part.op == "const" or not symbolic[id(part)]:
            yield part
        if symbolic[id(part)]:
            stack.extend(part.args)
        else:
            yield from (t for t in part.walk() if t.op == "const")


def _symbolic(term: Term) -> dict[int, bool]:
    """Whether a symbol occurs in each part of a term."""
    found: dict[int, bool] = {}
    stack = [term]
    while stack:
        part = stack[-1]
        waiting = [a for a in part.args if id(a) not in found]
        if waiting and id(part) not in found:
            stack.extend(waiting)
            continue
        stack.pop()
        sizes = (part.type.rows, part.type.cols) if part.type.kind == "matrix" else ()
        own = part.op in UNFIXED or any(s.symbols() for s in sizes)
        found[id(part)] = own or any(found[id(a)] for a in part.args)
    return found


def _value(context: Context, term: Term, highest: int) -> Fraction | None:
    try:
        low = Lowering(context, {})
        with precision(128):
            (found,) = evaluate(low.graph, [low.number(term)], {})
            if not exact(found):
                if not found.is_finite() or found.abs_upper() > highest:
                    return None
                found = fmpq(int((found.mid() * 2**30).floor().unique_fmpz() or 0), 2**30)
    except (Infeasible, Undefined, Imprecise, TooLarge, ZeroDivisionError):
        return None
    return Fraction(int(found.p), int(found.q))


def whole_marks(said: Iterable[Fraction]) -> list[int]:
    """Whole numbers around those a claim names, their roots, squares, halves and doubles."""
    found: set[int] = set()
    for value in said:
        size = abs(value)
        for mark in {size, size / 2, 2 * size, Fraction(isqrt(floor(size)))} | ({size * size} if size < 100 else set()):
            found |= {floor(mark) - 1, floor(mark), ceil(mark), ceil(mark) + 1}
    return sorted(v for v in found if 1 <= v <= HIGHEST)


__all__ = ["FEW", "TRIED", "constants", "is_met", "whole_marks"]
