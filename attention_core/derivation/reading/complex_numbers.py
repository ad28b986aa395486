r"""Complex numbers as rotary embeddings use them: $q, k \in \mathbb{C}$, $e^{i \theta}$, conjugates, real parts.

A complex number z is two real ones, `\Re z` and `\Im z`. A relation that mentions one, or the imaginary unit, is read
as a relation between columns of real and imaginary parts, so that it is decided as any other. The letter i is the
imaginary unit where the document declares complex numbers or speaks of that unit, and declares i as nothing else; where
it says that another letter has the square -1, this one is (see `imaginary_unit`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from attention_core.derivation.document.blocks import KEPT_SENTENCES
from attention_core.derivation.latex.printer import symbol_name
from attention_core.derivation.latex.syntax import (
    Array,
    Call,
    Chain,
    Expr,
    Fence,
    Frac,
    Group,
    Minus,
    Name,
    Num,
    Plus,
    Root,
    Statement,
    Sub,
    Sup,
    Times,
    children,
)
from attention_core.derivation.quick_patterns import compile_quick
from attention_core.derivation.terms.context import Context, Symbol
from attention_core.derivation.terms.terms import SCALAR

Parts = tuple[Expr, Expr]  # the real and the imaginary part
UNIT = "i"
MOST_POWER = 8
ZERO, ONE = Num(Fraction(0)), Num(Fraction(1))
_REAL, _IMAGINARY = r"\text{Re}", r"\text{Im}"
_BAR = re.compile(r"\\(?:bar|overline)\{(.+)\}")
_SAYS = compile_quick(r"\b(?:imaginary unit|complex numbers?|complex plane|euler's formula)\b", re.IGNORECASE)


class NotComplex(Exception):
    """A formula holds what has no real and imaginary part here."""


@lru_cache(maxsize=KEPT_SENTENCES)
def says_complex(prose: str) -> bool:
    """Whether a sentence speaks of the imaginary unit or of complex numbers."""
    return bool(_SAYS.search(prose))


def declare_complex(context: Context, name: str, line: int, defined: bool = False) -> None:
    r"""Declare a complex number by its two parts.

    Args:
        context: What is declared; it is changed.
        name: The number.
        line: Its line.
        defined: Whether its parts are defined already.
    """
    parts = [f"\\Re {name}", f"\\Im {name}"]
    for part in () if defined else parts:
        context.declare(Symbol(part, "array", line, context.level, SCALAR))
    context.declare(Symbol(name, "complex", line, context.level, mentions=frozenset(parts)))
    context.imaginary = context.level
    context.understood.append((line, f"{name}: a complex number, {parts[0]} + i {parts[1]}"))


def split_definition(context: Context, chain: Chain) -> list[Chain]:
    r"""The definitions of the parts of a complex number, `z = x + i y`; [] of what defines none.

    Args:
        context: What is declared.
        chain: The definition.
    """
    if context.imaginary is None or len(chain.ops) != 1 or not isinstance(chain.exprs[0], Name):
        return []
    name, right = chain.exprs[0].text, chain.exprs[1]
    if _is_unit(context, name) or not _is_complex(context, right):
        return []
    try:
        real, imaginary = _split(context, right)
    except NotComplex:
        return []
    parts = ((name, real),) if imaginary == ZERO else ((f"\\Re {name}", real), (f"\\Im {name}", imaginary))
    return [replace(chain, exprs=(Name(one), value)) for one, value in parts]


def write_parts(context: Context, statement: Statement) -> Statement:
    """A statement with columns of real and imaginary parts in the place of complex numbers.

    Args:
        context: What is declared.
        statement: The statement; where it holds what has no parts, it comes back as it is.
    """
    chains = []
    for chain in statement.chains:
        if not _is_complex(context, chain):
            chains.append(chain)
            continue
        try:
            parts = [_split(context, one) for one in chain.exprs]
        except NotComplex:
            return statement
        if all(imaginary == ZERO for _, imaginary in parts):
            chains.append(replace(chain, exprs=tuple(real for real, _ in parts)))
        elif set(chain.ops) <= {"=", "!="}:
            chains.append(replace(chain, exprs=tuple(Array(((real,), (imaginary,))) for real, imaginary in parts)))
        else:
            return statement
    return replace(statement, chains=tuple(chains))


def _is_unit(context: Context, name: str) -> bool:
    """Whether a letter is the imaginary unit: nothing declares it."""
    return name == context.unit and (name not in context.symbols or name in context.inferred)


def _is_complex(context: Context, node: object) -> bool:
    """Whether a complex number or the imaginary unit stands in a formula."""
    for name in _names_of_values(node):
        bar = _BAR.fullmatch(name)
        known = context.symbols.get(bar[1] if bar else name)
        if _is_unit(context, name) or (known is not None and known.kind == "complex"):
            return True
    return False


def _names_of_values(node: object) -> Iterator[str]:
    r"""The names in a formula without the subscripts: the i of $E_\mathrm{i}$ is a label or an index."""
    stack = [node]
    while stack:
        one = stack.pop()
        if isinstance(one, Name):
            yield one.text
        elif isinstance(one, Sub):
            yield symbol_name(one) or ""
            stack.append(one.base)
        else:
            stack.extend(children(one))


def _split(context: Context, expr: Expr) -> Parts:
    """The real and the imaginary part."""
    if not _is_complex(context, expr):
        return expr, ZERO
    match expr:
        case Name(name):
            return _split_name(context, name)
        case Minus(body):
            return _negative(_split(context, body))
        case Group("(" | "[", (Chain((body,), ()),)):
            return _split(context, body)
        case Plus(terms):
            parts = [_split(context, one) for one in terms]
            return _sum(*(one for one, _ in parts)), _sum(*(one for _, one in parts))
        case Times():
            return _split_product(context, expr)
        case Frac(top, bottom):
            return _quotient(_split(context, top), _split(context, bottom))
        case Sup(base, exponent):
            return _split_power(context, base, exponent)
        case Call("exp", (Chain((body,), ()),), (), None):
            return _exponential(_split(context, body))
        case Fence("abs", body):
            return _magnitude(_split(context, body)), ZERO
    raise NotComplex


def _split_name(context: Context, name: str) -> Parts:
    if _is_unit(context, name):
        return ZERO, ONE
    if bar := _BAR.fullmatch(name):
        return _conjugate(_split_name(context, bar[1]))
    symbol = context.symbols.get(name)
    if symbol is None or symbol.kind != "complex":
        raise NotComplex
    return Name(f"\\Re {name}"), Name(f"\\Im {name}")


def _split_product(context: Context, expr: Times) -> Parts:
    """Factors from left to right; `\\operatorname{Re}` takes the bracket after it."""
    factors, ops = list(expr.factors), ["", *expr.ops]
    parts: Parts = (ONE, ZERO)
    place = 0
    while place < len(factors):
        factor, op = factors[place], ops[place]
        if factor in (Name(_REAL), Name(_IMAGINARY)):
            if place + 1 == len(factors) or ops[place + 1] or not isinstance(factors[place + 1], Group):
                raise NotComplex
            found = _split(context, factors[place + 1])
            one: Parts = (found[0] if factor == Name(_REAL) else found[1], ZERO)
            place += 1
        else:
            one = _split(context, factor)
        if op not in ("", ".", "/"):
            raise NotComplex
        parts = _quotient(parts, one) if op == "/" else _product(parts, one)
        place += 1
    return parts


def _split_power(context: Context, base: Expr, exponent: Expr) -> Parts:
    if exponent == Name("*"):
        return _conjugate(_split(context, base))
    if base == Name("e"):
        return _exponential(_split(context, exponent))
    whole = isinstance(exponent, Num) and exponent.value.denominator == 1 and 0 <= exponent.value <= MOST_POWER
    if not whole:
        raise NotComplex
    assert isinstance(exponent, Num)
    out: Parts = (ONE, ZERO)
    one = _split(context, base)
    for _ in range(int(exponent.value)):
        out = _product(out, one)
    return out


def _conjugate(parts: Parts) -> Parts:
    return parts[0], _minus(parts[1])


def _negative(parts: Parts) -> Parts:
    return _minus(parts[0]), _minus(parts[1])


def _exponential(parts: Parts) -> Parts:
    real, imaginary = parts
    length = ONE if real == ZERO else Sup(Name("e"), real)
    if imaginary == ZERO:
        return length, ZERO
    turns = (Call(name, (Chain((imaginary,)),)) for name in ("cos", "sin"))
    cosine, sine = (_times(length, one) for one in turns)
    return cosine, sine


def _product(left: Parts, right: Parts) -> Parts:
    (a, b), (c, d) = left, right
    return _sum(_times(a, c), _minus(_times(b, d))), _sum(_times(a, d), _times(b, c))


def _quotient(left: Parts, right: Parts) -> Parts:
    c, d = right
    if d == ZERO:
        return (left[0] if left[0] == ZERO else Frac(left[0], c)), (ZERO if left[1] == ZERO else Frac(left[1], c))
    square = _sum(_times(c, c), _times(d, d))
    real, imaginary = _product(left, _conjugate(right))
    return (ZERO if real == ZERO else Frac(real, square)), (ZERO if imaginary == ZERO else Frac(imaginary, square))


def _magnitude(parts: Parts) -> Expr:
    return Root(_sum(_times(parts[0], parts[0]), _times(parts[1], parts[1])))


def _minus(expr: Expr) -> Expr:
    return ZERO if expr == ZERO else Minus(_group(expr))


def _sum(*terms: Expr) -> Expr:
    kept = tuple(one for one in terms if one != ZERO)
    return Plus(kept) if len(kept) > 1 else kept[0] if kept else ZERO


def _times(left: Expr, right: Expr) -> Expr:
    if ZERO in (left, right):
        return ZERO
    if ONE in (left, right):
        return right if left == ONE else left
    return Times((_group(left), _group(right)), ("",))


def _group(expr: Expr) -> Expr:
    return Group("(", (Chain((expr,)),), ")") if isinstance(expr, Plus | Minus | Times) else expr
