r"""Sizes and domains as they are written: `n`, `2 d + 1`, `\mathbb{R}^{n \times d}`."""

from __future__ import annotations

from attention_core.derivation.inference.usage import CONSTANTS
from attention_core.derivation.latex.printer import symbol_name
from attention_core.derivation.latex.syntax import Chain, Expr, Group, Minus, Name, Num, Plus, Sub, Sup, Times
from attention_core.derivation.terms.terms import ONE, SCALAR, Size, Type, matrix

REALS, NATURALS = r"\mathbb{R}", r"\mathbb{N}"


def size_of(expr: Expr) -> Size | None:
    """A written size: names, numerals, sums and products of them."""
    match expr:
        case Num(value):
            return Size.number(value)
        case Name() | Sub():
            name = symbol_name(expr)
            return None if name is None or name in CONSTANTS else Size.symbol(name)
        case Group("(", (Chain((inner,), ()),)):
            return size_of(inner)
        case Times(factors, ops) if set(ops) <= {"", "."}:
            found = [size_of(factor) for factor in factors]
            if None in found:
                return None
            product = Size.number(1)
            for one in found:
                assert one is not None
                product = product * one
            return product
        case Plus(terms):
            sizes = [size_of(term.body if isinstance(term, Minus) else term) for term in terms]
            total = Size.number(0)
            for term, one in zip(terms, sizes, strict=True):
                if one is None:
                    return None
                total = total + (-one if isinstance(term, Minus) else one)
            return total
    return None


def size_names(expr: Expr) -> set[str]:
    """The names in a written size."""
    size = size_of(expr)
    return set() if size is None else size.symbols()


def domain_type(expr: Expr) -> tuple[Type | None, bool]:
    """The type of a written domain, None for whole numbers, and whether it is understood."""
    if expr == Name(REALS):
        return SCALAR, True
    if expr == Name(NATURALS):
        return None, True
    if not (isinstance(expr, Sup) and expr.base == Name(REALS)):
        return None, False
    sides: list[Size] = []
    for part in _split_at_times(expr.exponent):
        size = size_of(part)
        if size is None:
            return None, False
        sides.append(size)
    if len(sides) > 2:
        return None, False
    return matrix(sides[0], sides[1] if len(sides) == 2 else ONE), True


def _split_at_times(expr: Expr) -> list[Expr]:
    """`n \\times d` as n and d."""
    if not isinstance(expr, Times) or "*" not in expr.ops:
        return [expr]
    out: list[Expr] = []
    start = 0
    for place, op in [*enumerate(expr.ops), (len(expr.ops), "*")]:
        if op == "*":
            factors, ops = expr.factors[start : place + 1], expr.ops[start:place]
            out.append(factors[0] if not ops else Times(factors, ops))
            start = place + 1
    return out
