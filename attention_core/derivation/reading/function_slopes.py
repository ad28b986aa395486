r"""Derivatives of functions that a document defines: `f'(x)`, `\nabla f(x)`, `\nabla^2 f(x)`, `D^2 f(x)`.

They say by what is differentiated only through the definition: the argument of f. Where the argument is a symbol that
the body of f does not mention they are derivatives by it; elsewhere (`\sigma'(-y z)`) the body is differentiated at
the argument.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from attention_core.derivation.elaborate.differentials import ALONG, DIFFERENTIALS
from attention_core.derivation.elaborate.entrywise_calls import BY_ENTRIES
from attention_core.derivation.elaborate.row_functions import has_row_function, write_row_functions
from attention_core.derivation.inference.usage import walk
from attention_core.derivation.latex.printer import all_names, symbol_name
from attention_core.derivation.latex.syntax import (
    SLOPE,
    Call,
    Chain,
    Derivative,
    Expr,
    Group,
    Name,
    Num,
    Statement,
    Sub,
    Sup,
    Times,
    Transpose,
    children,
)
from attention_core.derivation.terms.context import Context, Symbol

_SIGNS = (r"\nabla", "D")


def write_calls(context: Context, statement: Statement) -> Statement:
    r"""A statement with `\operatorname{rowsum}(A)` and the like as calls, where the document does not declare the word.

    Args:
        context: What is declared.
        statement: The statement; one without such a word comes back as it is.
    """
    nodes = (one for chain in statement.chains for one in walk(chain))
    if not any(isinstance(one, Name) and one.text.startswith(r"\text{") for one in nodes):
        return statement  # most of them: no compound name begins with a word then
    names = {name for chain in statement.chains for name in all_names(chain)}
    if not has_row_function(names, context.symbols.__contains__):
        return statement
    chains = write_row_functions(context.symbols.__contains__, statement.chains)
    return replace(statement, chains=chains)  # type: ignore[arg-type]


def write_slopes(context: Context, statement: Statement) -> Statement:
    """A statement with the derivatives of functions that are defined as what they are.

    Args:
        context: What is declared.
        statement: The statement; one without such a derivative comes back as it is.
    """
    functions = {name for name, symbol in context.symbols.items() if symbol.kind == "function"}
    if not functions:
        return statement
    chains = tuple(_write(context, chain) for chain in statement.chains)
    return statement if chains == statement.chains else replace(statement, chains=chains)  # type: ignore[arg-type]


def _write(context: Context, node: object) -> object:
    if isinstance(node, tuple):
        return tuple(_write(context, one) for one in node)
    if not children(node):
        return node
    made = type(node)(**{name: _write(context, getattr(node, name)) for name in node.__slots__})  # type: ignore[attr-defined]
    return _in_product(context, made) if isinstance(made, Times) else made


def _in_product(context: Context, node: Times) -> Expr:
    """A product with the derivatives in it, each in the place of the sign, the function and its argument."""
    factors, ops = list(node.factors), list(node.ops)
    place = 0
    while place < len(factors):
        if (along := _along(context, factors, ops, place)) is not None:
            factors[place : place + 4] = [along]
            del ops[place : place + 3]
        order, function = _primes(context, factors[place])
        width = 1
        if not order and place < len(ops) and not ops[place]:
            order, function = _sign(context, factors[place]), _function(context, factors[place + 1])
            width = 2
        found = _slope_of(context, function, order, factors, ops, place + width) if order and function else None
        if found is not None:
            slope, used = found
            if BY_ENTRIES in context.stated and isinstance(slope, Derivative) and isinstance(slope.body, Times):
                argument = slope.by[0]  # the slope of each entry, where the function has no value of the whole
                slope = Call(f"{SLOPE}{order}", (Chain((slope.body.factors[0],)), Chain((argument,))))
            factors[place : place + width + used] = [slope]
            del ops[place : place + width + used - 1]
        place += 1
    return Times(tuple(factors), tuple(ops)) if ops else factors[0]


def _along(context: Context, factors: list[Expr], ops: list[str], place: int) -> Expr | None:
    r"""The derivative along a direction that `D f(x)[h]`, `D f(x) h` or `d f(x)[h]` is; None of anything else."""
    if len(factors) < place + 4 or any(ops[place : place + 3]) or factors[place] not in (Name("D"), Name("d")):
        return None
    if factors[place] == Name("D") and "D" in set(context.symbols) - set(context.inferred):
        return None
    if factors[place] == Name("d") and DIFFERENTIALS not in context.stated:
        return None
    argument, way = factors[place + 2 : place + 4]
    if _function(context, factors[place + 1]) is None or not _is_one(argument, "(") or not argument.items[0].alone:  # type: ignore[union-attr]
        return None
    direction = way.items[0].exprs[0] if _is_one(way, "[") or _is_one(way, "(") else way  # type: ignore[union-attr]
    called = len(factors) > place + 4 and not ops[place + 3] and isinstance(factors[place + 4], Group)
    alone = isinstance(direction, Name | Sub) and not called and _function(context, direction) is None
    if not alone and not _is_one(way, "["):
        return None
    return Call(ALONG, tuple(Chain((one,)) for one in (factors[place + 1], argument.items[0].exprs[0], direction)))  # type: ignore[union-attr]


def _is_one(node: Expr, bracket: str) -> bool:
    return isinstance(node, Group) and node.bracket == bracket and len(node.items) == 1


def _primes(context: Context, head: Expr) -> tuple[int, Symbol | None]:
    """How often `f''` or `f^{\\prime}` is differentiated, and f; 0 of anything else."""
    if isinstance(head, Sup) and head.exponent == Name("'"):
        return 1, _function(context, head.base)
    name = head.text if isinstance(head, Name) else ""
    count = len(name) - len(name.rstrip("'"))
    if not 0 < count <= 3 or name in context.symbols:
        return 0, None
    return count, _function(context, Name(name.rstrip("'")))


def _sign(context: Context, head: Expr) -> int:
    r"""The order of `\nabla` or `\nabla^2`, `D` or `D^2` in front of a function; 0 of anything else."""
    order, base = 1, head
    if isinstance(head, Sup) and head.exponent == Num(Fraction(2)):
        order, base = 2, head.base
    known = isinstance(base, Name) and base.text in _SIGNS and base.text not in context.symbols
    return order if known and (order == 2 or base != Name("D")) else 0


def _function(context: Context, head: Expr) -> Symbol | None:
    """The function of one argument that a name stands for."""
    symbol = context.symbols.get(symbol_name(head) or "") if isinstance(head, Name | Sub) else None
    one = symbol is not None and symbol.kind == "function" and symbol.body is not None and len(symbol.params) == 1
    return symbol if one else None


def _slope_of(
    context: Context, function: Symbol, order: int, factors: list[Expr], ops: list[str], place: int
) -> tuple[Expr, int] | None:
    """The derivative with the argument that stands at a place, or of the argument that the definition names.

    Returns:
        The derivative, and how many factors its argument is; None where it has none.
    """
    if (
        place < len(factors)
        and not ops[place - 1]
        and (found := _differentiate_at(function, order, factors[place])) is not None
    ):
        return found, 1
    letter = function.params[0]
    if letter in context.symbols and (place >= len(factors) or not isinstance(factors[place], Group)):
        return _slope(function, order, Name(letter)), 0
    return None


def _differentiate_at(function: Symbol, order: int, behind: Expr) -> Expr | None:
    """The derivative at what stands in round brackets, with the power, transpose or index after them."""
    match behind:
        case Group("(", (Chain((argument,), ()),)):
            return _slope(function, order, argument)
        case Sup(base, exponent):
            inner = _differentiate_at(function, order, base)
            return None if inner is None else Sup(inner, exponent)
        case Transpose(base, letter):
            inner = _differentiate_at(function, order, base)
            return None if inner is None else Transpose(inner, letter)
        case Sub(base, items):
            inner = _differentiate_at(function, order, base)
            return None if inner is None else Sub(inner, items)
    return None


def _slope(function: Symbol, order: int, argument: Expr) -> Expr:
    name = symbol_name(argument) if isinstance(argument, Name | Sub) else None
    inside = all_names(function.body) - set(function.params)
    head = Name(function.name)
    if (
        name is not None
        and name not in inside
        and not (isinstance(argument, Sub) and symbol_name(argument.base) in inside)
    ):
        applied = Times((head, Group("(", (Chain((argument,)),), ")")), ("",))
        return Derivative(applied, (argument,) * order, nabla=True)
    return Call(f"{SLOPE}{order}", (Chain((head,)), Chain((argument,))))
