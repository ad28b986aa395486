r"""`\delta_{ij}`, `\mathbf{1}[i = j]`, and what to say of `J_{ij}` where i is not declared.

Kronecker's delta and indicators of indices, and subscripts whose letter nothing declares.
The letter is what is missing there: advice to declare the entry would make a known entry a free number.
"""

from __future__ import annotations

from collections.abc import Container
from fractions import Fraction
from typing import TYPE_CHECKING

from attention_core.derivation.latex.printer import symbol_name, to_latex
from attention_core.derivation.latex.syntax import (
    Call,
    Chain,
    Expr,
    Group,
    Minus,
    Name,
    Num,
    Plus,
    Sub,
    Times,
    Unreadable,
    children,
    names_in,
)
from attention_core.derivation.terms.context import range_of_member
from attention_core.derivation.terms.terms import SCALAR, Size, Term, integer, negative, product, scalar_function

if TYPE_CHECKING:
    from attention_core.derivation.elaborate.elaborator import Elaborator
    from attention_core.derivation.terms.context import Context, Symbol

ONES = r"\mathbf{1}"
_COMPARISONS = frozenset(("=", "!=", "<", "<=", ">", ">="))


def _spread(items: tuple[Chain, ...]) -> list[Expr] | None:
    """The subscripts one by one: `ij` and `i,j` are two; None if one of them is a relation."""
    if not all(item.alone for item in items):
        return None
    exprs = [item.exprs[0] for item in items]
    if len(exprs) == 1 and isinstance(exprs[0], Times) and not any(exprs[0].ops):
        return list(exprs[0].factors)
    whole = exprs[0].value if len(exprs) == 1 and isinstance(exprs[0], Num) else Fraction(0)
    if 10 < whole < 100 and whole.denominator == 1:
        return [Num(Fraction(int(digit))) for digit in str(whole)]
    return exprs


def _indexlike(expr: Expr) -> bool:
    """Whether an expression is spelled with lower-case letters and numerals alone, as indices are."""
    match expr:
        case Num(value):
            return value.denominator == 1
        case Name(text):
            return text.rstrip("'").isalpha() and text.rstrip("'").islower() and text.isascii()
        case Minus(body):
            return _indexlike(body)
        case Plus(terms):
            return all(_indexlike(term) for term in terms)
    return False


def missing_index(context: Context, expr: Sub, bound: Container[str] = ()) -> str:
    """The letter that keeps `J_{ij}` from being an entry of J: an index that is not declared; '' if none does."""
    exprs = _spread(expr.items)
    if exprs is None or not all(_indexlike(e) for e in exprs):
        return ""
    letters = [n for e in exprs for n in sorted(names_in(e))]
    return next((n for n in letters if n not in context.symbols and n not in bound), "")


def declared_as(letter: str, last: Size | None = None) -> str:
    """What to write where the index is not declared."""
    end = "n" if last is None else str(last)
    return (
        f"write '\\text{{for all }} {letter}' after the formula, or 'Let ${letter} \\in \\{{1, \\dots, {end}\\}}$' "
        "above the display"
    )


def extent(known: Symbol, expr: Sub, letter: str) -> Size | None:
    """How far the index may run at its place, where the array says so."""
    kind = known.type if known.term is None else known.term.type
    exprs = _spread(expr.items) or []
    place = next((k for k, e in enumerate(exprs) if letter in names_in(e)), 0)
    if known.kind == "family" or known.params:
        members = range_of_member(known, place)
        return members[1] if members is not None else None
    if kind is None or kind.kind != "matrix":
        return None
    return (kind.cols if kind.vector and not kind.column else kind.rows) if place == 0 else kind.cols


def entry_type_fits(known: Symbol, expr: Sub, scalar: bool) -> bool:
    """Whether what is declared or used as `J_{ij}` has the shape that an entry of J, or a member, has."""
    kind = known.type if known.term is None else known.term.type
    count = len(_spread(expr.items) or ())
    if known.kind == "family" or known.params:
        return True
    return scalar and kind is not None and kind.kind == "matrix" and count == (1 if kind.vector else 2)


def kronecker(elab: Elaborator, expr: Sub) -> Term | None:
    r"""`\delta_{ij}`: 1 where the indices agree, else 0; None if the subscript is not a pair of indices.

    Raises:
        Unreadable: one of the letters is not declared.
    """
    exprs = _spread(expr.items)
    if exprs is None or len(exprs) != 2 or not all(_indexlike(e) or elab.is_integer(e) for e in exprs):
        return None
    return indicator(elab, (Chain((exprs[0], exprs[1]), ("=",)),))


def indicator(elab: Elaborator, conditions: tuple[Chain, ...]) -> Term:
    r"""`\mathbf{1}[i = j]`, `\mathbf{1}[x > 0]`: 1 where all conditions hold, else 0.

    Raises:
        Unreadable: a side is not a number, or a letter is not declared.
    """
    for chain in conditions:
        if chain.alone or not set(chain.ops) <= _COMPARISONS:
            raise elab.fail(f"'{to_latex(chain)}' is not understood in an indicator: compare numbers, as in [i = j]")
        for side in chain.exprs:
            letter = next(
                (n for n in sorted(names_in(side)) if n not in elab.context.symbols and n not in elab.bound), ""
            )
            if letter and _indexlike(side) and not elab.is_integer(side):
                raise elab.fail(f"{letter} is not declared: {declared_as(letter)}")
    whole = [chain for chain in conditions if all(elab.is_integer(side) for side in chain.exprs)]
    tests = tuple(inner_condition(elab, chain) for chain in whole)
    out = Term("reduce", (integer(1), integer(1), integer(1), *tests), SCALAR, ("sum", "§1"))
    for chain in conditions:
        if chain not in whole:
            out = product(out, _compare_reals(elab, chain))
    return out


def _compare_reals(elab: Elaborator, chain: Chain) -> Term:
    """The product of step functions that is 1 where real numbers compare as a chain says, else 0."""
    sides = [elab.term(side) for side in chain.exprs]
    out = integer(1)
    for left, op, right in zip(sides, chain.ops, sides[1:], strict=False):
        if not (left.type.scalar and right.type.scalar):
            wrong = left if not left.type.scalar else right
            raise elab.fail(f"an indicator compares numbers, and {wrong.type} is in '{to_latex(chain)}'")
        sign = scalar_function("sign", Term("add", (left, negative(right)), SCALAR))
        above, below = scalar_function("relu", sign), scalar_function("relu", negative(sign))
        equal = Term("add", (integer(1), negative(above), negative(below)), SCALAR)
        steps = {"=": (equal,), "<": (below,), "<=": (below, equal), ">": (above,), ">=": (above, equal)}
        parts = steps.get(op, (above, below))
        out = product(out, parts[0] if len(parts) == 1 else Term("add", parts, SCALAR))
    return out


def conditions_in(items: tuple[Chain, ...]) -> tuple[Chain, ...]:
    r"""The conditions of `_{i = j}`, `_{\{i = j\}}`, `[i = j]`; empty if it has none."""
    if len(items) == 1 and items[0].alone and isinstance(items[0].exprs[0], Group):
        items = items[0].exprs[0].items
    return items if items and not all(item.alone for item in items) else ()


def inner_condition(elab: Elaborator, chain: Chain) -> Term:
    """A condition among whole numbers."""
    parts = [elab.term(e) for e in chain.exprs]
    tests = [Term("test", (a, b), SCALAR, op) for a, op, b in zip(parts, chain.ops, parts[1:], strict=False)]
    return tests[0] if len(tests) == 1 else Term("all", tuple(tests), SCALAR)


def with_indicators(elab: Elaborator, expr: Times) -> Expr:
    r"""A product whose `\mathbf{1}[...]` are calls."""
    factors, ops, place = list(expr.factors), list(expr.ops), 0
    while place < len(ops):
        following = factors[place + 1]
        if factors[place] == Name(ONES) and ops[place] == "" and isinstance(following, Group):
            conditions = conditions_in(following.items) if ONES not in elab.context.symbols else ()
            if conditions:
                factors[place : place + 2] = [Call("indicator", conditions)]
                del ops[place]
        place += 1
    return Times(tuple(factors), tuple(ops)) if ops else factors[0]


def is_factor(name: str, bracket: Expr) -> bool:
    """Whether a letter in front of a bracket is a factor, since it stands in the bracket as a number: `p(1 - p)`.

    Args:
        name: The letter.
        bracket: What follows it.
    """
    alone = led = 0
    stack: list[object] = [bracket]
    while stack:
        node = stack.pop()
        stack += children(node)
        alone += isinstance(node, Name | Sub) and symbol_name(node) == name
        if isinstance(node, Times):
            pairs = zip(node.factors, node.ops, node.factors[1:], strict=False)
            led += sum(symbol_name(one) == name and not op and isinstance(then, Group) for one, op, then in pairs)
    return alone > led


def require_function(elab: Elaborator, expr: Times) -> None:
    """`f(a)` of a letter that nothing declares is a function to define, or a number to declare: both are named.

    Raises:
        Unreadable: always where such a letter stands in front of a round bracket.
    """
    for letter, op, following in zip(expr.factors, expr.ops, expr.factors[1:], strict=False):
        if isinstance(following, Group) and any("parallel" in item.ops for item in following.items):
            message = r"a divergence D(p \| q) is written as its sum, \sum_i p_i \log(p_i / q_i)"
            raise Unreadable(message, elab.line)
        if op or not isinstance(letter, Name) or not isinstance(following, Group) or following.bracket != "(":
            continue
        name = letter.text
        known = elab.lookup(name)
        if is_factor(name, following):
            continue
        constant = name in ("e", "I", r"\pi") or name.startswith((r"\mathbf{", r"\text{", r"\mathbb{"))
        if known is None and name not in elab.bound and name not in elab.context.dropped and not constant:
            raise Unreadable(
                f"{name} is not declared: if it is a function, define it, as in 'Put ${name}(t) := ...$'; if it is a "
                f"number, write 'Let ${name} \\in \\mathbb{{R}}$' above the display and {name} \\cdot (...)",
                elab.line,
            )
        first = letter is expr.factors[0]  # after another factor it is read as one: g f (x + y)
        if name == "f" and first and known is not None and known.kind == "array" and known.type == SCALAR:
            raise Unreadable(
                f"'f {to_latex(following)}' may be a value of a function or a product with the number f (line "
                f"{known.line}): define 'Put $f(t) := ...$', or write f \\cdot {to_latex(following)}",
                elab.line,
            )
