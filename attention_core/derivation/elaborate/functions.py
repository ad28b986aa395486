r"""Functions that a document defines, and roots, magnitudes and norms.

Functions with arguments in brackets: `Put $f(t) := ...$`, then `f(x_i)^2`, `\nabla_x f(x)`, `f` for itself.
An application is the body with the arguments put in; indices bound in the body have names of their own.

Roots of numbers, magnitudes, and the norms of vectors and matrices, with or without an index.
A norm whose index has no meaning for its argument is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from operator import is_
from typing import TYPE_CHECKING

from attention_core.derivation.elaborate.intermediates import replace_symbol
from attention_core.derivation.elaborate.matrix_functions import SPECTRAL_NORM, matrix_norm, vector_norm
from attention_core.derivation.latex.printer import all_names, symbol_name, to_latex
from attention_core.derivation.latex.syntax import (
    Big,
    Call,
    Chain,
    Expr,
    Group,
    Minus,
    Name,
    Plus,
    Sub,
    Sup,
    Times,
    Transpose,
    Unreadable,
    change_base,
    children,
    rebuild,
)
from attention_core.derivation.terms.context import Context, Symbol
from attention_core.derivation.terms.terms import SCALAR, ShapeMismatch, Term, Type, integer, matrix

if TYPE_CHECKING:
    from attention_core.derivation.elaborate.elaborator import Elaborator


MARK = "§f "  # starts the name of a call that the elaborator has recognised
MOST = 400  # applications in one step
_numbers = count(1)


def function_form(expr: Expr) -> tuple[str, tuple[str, ...]] | None:
    """Name and arguments of `f(x, y)` with plain names, None of anything else."""
    if not (isinstance(expr, Times) and len(expr.factors) == 2 and expr.ops == ("",)):
        return None
    head, inside = expr.factors
    name = symbol_name(head)
    if name is None or not isinstance(inside, Group) or inside.bracket != "(" or inside.semicolons:
        return None
    names = tuple(symbol_name(item.exprs[0]) if item.alone else None for item in inside.items)
    if not names or any(n is None for n in names) or len(set(names)) != len(names):
        return None
    return name, tuple(str(n) for n in names)


def substitute(expr: object, rule: Callable[[object], object | None]) -> object:
    """A written tree with some nodes replaced; what holds none of them is the same node as before."""
    found = rule(expr)
    if found is not None:
        return found
    if isinstance(expr, tuple):
        parts = tuple(substitute(e, rule) for e in expr)
        return expr if all(map(is_, parts, expr)) else parts
    if not children(expr):
        return expr
    return rebuild(expr, lambda part: substitute(part, rule))


def rename_bound_indices(context: Context, body: Expr, params: tuple[str, ...]) -> Expr:
    """The body with new names for the indices that its sums bind, so that no argument is caught by them."""

    def rule(node: object) -> object | None:
        if not isinstance(node, Big) or node.op == "lim":
            return None
        plain = {e.text for chain in node.below for e in chain.exprs if isinstance(e, Name)}
        bound = {n for n in plain if n not in params and not _is_size(context, n)}
        names = {n: Name(f"{n}§{next(_numbers)}") for n in bound}

        def rename(part: object) -> object:
            return substitute(part, lambda e: names.get(e.text) if isinstance(e, Name) else None)

        below, inner = rename(node.below), rename(node.body)
        return replace(node, below=below, body=substitute(inner, rule))  # type: ignore[arg-type]

    return substitute(body, rule)  # type: ignore[return-value]


def _is_size(context: Context, name: str) -> bool:
    symbol = context.symbols.get(name)
    return symbol is not None and symbol.kind in ("size", "definition")


def with_calls(elab: Elaborator, expr: Times) -> Times | Expr:
    """`f (x)` as a call, where f is a function of the document."""
    factors, ops = list(expr.factors), list(expr.ops)
    place = 0
    while place + 1 < len(factors):
        name = symbol_name(factors[place])
        symbol = elab.lookup(name) if name is not None else None
        called = _read_call(name, factors[place + 1]) if symbol is not None and symbol.kind == "function" else None
        if called is not None and ops[place] == "":
            factors[place : place + 2] = [called]
            del ops[place]
        place += 1
    for before, op, after in zip(factors, ops, factors[1:], strict=False):
        _require_no_composition(elab, before, op, after)
    return Times(tuple(factors), tuple(ops)) if ops else factors[0]


def _require_no_composition(elab: Elaborator, before: Expr, op: str, after: Expr) -> None:
    r"""Functions beside brackets: `(f \circ g)(x)`, `f^{-1}(x)`, `f g(x)` and `f \circ g` are refused as products."""
    name = _bare_function(elab, before)
    base = after
    while isinstance(base, Sup | Sub | Transpose):
        base = base.base
    applied = (isinstance(base, Group) and base.bracket == "(") or (isinstance(base, Call) and MARK in base.function)
    if name and ((op == "" and applied) or (op == "o" and _bare_function(elab, after))):
        raise elab.fail(
            f"'{to_latex(before)}' holds the function {name} without its argument, and what follows may be that: write "
            f"{name}(...), as in {name}(g(x)) for a composition and {name}(x)^2 for a power"
        )


def _bare_function(elab: Elaborator, node: object) -> str:
    """A function of the document that stands without an argument in a power, in brackets or alone; '' if none does."""
    match node:
        case Name() | Sub():
            name = symbol_name(node)
            symbol = elab.lookup(name) if name is not None else None
            return name or "" if symbol is not None and symbol.kind == "function" else ""
        case Sup(base, _):
            return _bare_function(elab, base)
        case Group("(", (one,)) if one.alone:
            return _bare_function(elab, one.exprs[0])
        case Times(parts, ops):
            if isinstance(parts[-1], Group):
                return ""
            behind = [None if op else part for op, part in zip(ops, parts[1:], strict=True)]
            alone = (part for part, after in zip(parts, [*behind, None], strict=True) if not _is_argument(after))
            return next((name for part in alone if (name := _bare_function(elab, part))), "")
        case Plus(parts):
            return next((name for part in parts if (name := _bare_function(elab, part))), "")
        case Minus(body):
            return _bare_function(elab, body)
    return ""


def _is_argument(node: Expr | None) -> bool:
    """Whether something stands in round brackets, with a power, an index or a transpose behind them or without."""
    while isinstance(node, Sup | Sub | Transpose):
        node = node.base
    return isinstance(node, Group) and node.bracket == "("


def _read_call(name: str | None, arguments: Expr) -> Expr | None:
    """The call for `(x)`, `(x)^2`, `(x)^\\top`, `(x)_i` after the name of a function."""

    def call(inside: Expr) -> Expr | None:
        match inside:
            case Group("(", items, ")", False):
                return Call(f"{MARK}{name}", items)
        return None

    return change_base(arguments, call)


def expand_definition(elab: Elaborator, symbol: Symbol, args: tuple[Chain, ...]) -> Expr:
    """The body at these arguments."""
    elab.context.applied += 1
    if elab.context.applied > MOST:
        raise elab.fail(f"functions are applied more than {MOST} times in this step")
    if len(args) != len(symbol.params) or not all(a.alone for a in args):
        raise elab.fail(f"{symbol.name} was defined with {len(symbol.params)} arguments")
    given: dict[str, Expr] = {}
    for param, arg in zip(symbol.params, args, strict=True):
        inner = arg.exprs[0]
        given[param] = inner if isinstance(inner, Name) else Group("(", (arg,), ")")

    def rule(node: object) -> object | None:
        if isinstance(node, Name | Sub):
            return given.get(symbol_name(node) or "")
        return None

    return substitute(symbol.body, rule)  # type: ignore[return-value]


def slope_at(elab: Elaborator, order: int, head: Expr, argument: Expr) -> Term:
    """The derivative of a function of the document at an argument, which the body sees as one thing of its own."""
    if isinstance(head, Call):
        return _known_slope(elab, order, head, argument)
    symbol = elab.lookup(symbol_name(head) or "")
    if symbol is None or symbol.kind != "function":  # it was one where the display was read
        raise elab.fail(f"{to_latex(head)} is not a function here: define it, as in 'Put ${to_latex(head)}(t) := ...$'")
    given = elab.term(argument)
    name = f"{symbol.params[0]}§{next(_numbers)}"
    here = Term("marked", (given,), SCALAR if given.type.scalar else given.type, name)
    inner = type(elab)(elab.context.copy(), elab.bound, elab.line)
    inner.context.symbols[name] = Symbol(name, "array", elab.line, elab.context.level, here.type)
    slope = inner.term(expand_definition(inner, symbol, (Chain((Name(name),)),)))
    slope = replace_symbol(slope, name, here, {})
    for _ in range(order):
        slope = Term("deriv", (slope, here), derivative_type(elab, slope.type, here.type))
    return slope


def _known_slope(elab: Elaborator, order: int, head: Call, argument: Expr) -> Term:
    r"""The derivative of a known function of numbers, as in `\tanh'(x)`."""
    given = elab.term(argument)
    if not given.type.scalar:
        raise ShapeMismatch(f"{to_latex(head).removesuffix('()')} and its derivative are of numbers")
    here = Term("marked", (given,), SCALAR, f"x§{next(_numbers)}")
    known = Call(head.function, (Chain((Name(str(here.data)),)),))
    inner = type(elab)(elab.context.copy(), elab.bound, elab.line)
    inner.context.symbols[str(here.data)] = Symbol(str(here.data), "array", elab.line, elab.context.level, SCALAR)
    slope = replace_symbol(inner.term(known), str(here.data), here, {})
    for _ in range(order):
        slope = Term("deriv", (slope, here), SCALAR)
    return slope


def derivative_type(elab: Elaborator, body: Type, by: Type) -> Type:
    """The shape of a derivative: of a number that of the variable, of a vector the Jacobian's."""
    if body.scalar:
        return by
    if by.scalar:
        return body
    if body.vector and by.vector:
        return matrix(body.rows if body.column else body.cols, by.rows if by.column else by.cols)
    raise elab.fail(f"the derivative of {body} by {by} has more than two indices: take an entry of one of them")


def require_used_parameters(elab: Elaborator, body: Expr, params: tuple[str, ...]) -> None:
    """An argument that the body does not mention is a slip of the pen."""
    missing = [p for p in params if p not in all_names(body)]
    if missing:
        raise Unreadable(f"the argument {missing[0]} does not occur in the definition", elab.line)


def root(elab: Elaborator, body: Expr, degree: Expr | None) -> Term:
    """A root of a number."""
    inner = elab.term(body)
    if not inner.type.scalar:
        raise ShapeMismatch(f"{inner.type} has no square root here")
    if degree is None:
        return Term("sqrt", (inner,), SCALAR)
    return Term("pow", (inner, Term("div", (integer(1), elab.term(degree)), SCALAR)), SCALAR)


def norm_with_index(elab: Elaborator, body: Expr, below: Expr) -> Term | None:
    r"""A norm by its index: `\|x\|_1`, `\|x\|_p`, `\|x\|_\infty` of vectors, `\|A\|_F`, `\|A\|_*`; None of others."""
    inner, index = elab.term(body), to_latex(below)
    if inner.type.scalar:
        return None
    if inner.type.vector:
        known = {"1": "norm1", r"\infty": "normmax", "2": "norm", "F": "norm", r"\text{F}": "norm"}
        return Term(known[index], (inner,), SCALAR) if index in known else vector_norm(elab, inner, below)
    if index in ("F", r"\text{F}"):
        return Term("norm", (inner,), SCALAR)
    return matrix_norm(elab, inner, index)


def fence(elab: Elaborator, kind: str, body: Expr) -> Term:
    """An absolute value or a norm."""
    inner = elab.term(body)
    if inner.type.scalar:
        return Term("abs", (inner,), SCALAR)
    if kind == "abs":
        raise elab.fail(f"|{to_latex(body)}| is the magnitude of {inner.type}: write \\| . \\| for a norm")
    if SPECTRAL_NORM in elab.context.stated and inner.type.kind == "matrix" and not inner.type.vector:
        return Term("singular", (inner,), SCALAR, "max")
    return Term("norm", (inner,), SCALAR)
