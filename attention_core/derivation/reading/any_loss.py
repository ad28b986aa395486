r"""Losses of which a document says no more than what they are functions of: `L \colon O \to \mathbb{R}`.

Such a loss is tried as $L(O) = \langle C, O \rangle + \frac{1}{2} O^\top D O$ with arrays C and D that are drawn like
any others, and of matrices, members of a family or several quantities with a number times the square of an inner
product. Derivatives of first order are linear in $\partial L / \partial O$, which takes every value, so what is false
of one of these is false, and what holds of all of them AGREES and is never more; of second order only where the square
is any.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import count
from typing import Protocol

from attention_core.derivation.elaborate.functions import substitute
from attention_core.derivation.latex.parse import parse_expression
from attention_core.derivation.latex.printer import symbol_name, to_latex
from attention_core.derivation.latex.syntax import (
    Big,
    Chain,
    Expr,
    Frac,
    Group,
    Name,
    Num,
    Plus,
    Sub,
    Sup,
    Times,
    Unreadable,
)
from attention_core.derivation.terms.context import Context, Symbol, is_entrywise, type_of_whole
from attention_core.derivation.terms.terms import SCALAR, Relation, Term, Type, matrix

Quantity = tuple[Expr, Type, Symbol | None]
"""What a loss is a function of, its shape or that of its members, and the family if it is one."""


class Letter(Protocol):
    """Declares an array of a shape, or a family of such, for a loss to be made of."""

    def __call__(self, kind: Type, family: Symbol | None, mark: str = ..., /) -> Name:
        """The name of the array."""
        ...


_NAME = r"(?!\\math(?:bb|bf)\s*\{?\s*R)(?:\\[A-Za-z]+\s*(?:\{\s*\\?[A-Za-z]+\s*\}|\\?[a-zA-Z](?![A-Za-z]))?|[A-Za-z]+)"
_FORM = re.compile(rf"\s*({_NAME})\s*\\colon\s*({_NAME}(?:,\s*{_NAME})*)\s*\\to\s*\\mathbb\{{R\}}\s*")
_PAIRS = ("D O", r"\operatorname{tr}(D^\top O)", r"D^\top O", r"D O^\top")
"""Inner products of an array with a number, a matrix, a column and a row."""
_SQUARES = (r"D O^2", "", r"O^\top D O", r"O D O^\top")
"""All quadratic functions of a number, of a column and of a row."""
_COMPLETE = "_{[0]}"  # of what a loss is made of, where its square is any


def loss_in(formula: str) -> tuple[str, str] | None:
    r"""The names of `L \colon O \to \mathbb{R}`: of the loss, and of what it is a function of; None of anything else.

    Args:
        formula: An inline formula.

    Example:
        >>> loss_in(r"L \colon O \to \mathbb{R}"), loss_in("L = O")
        (('L', 'O'), None)
    """
    found = _FORM.fullmatch(formula)
    return (found[1], found[2]) if found else None


def loss_of(context: Context, names: tuple[str, str], line: int) -> tuple[Name, Expr]:
    """Declare the arrays that a loss is made of, and return its name and what it stands for.

    Args:
        context: What is declared; it is changed.
        names: The loss, and what it is a function of, with commas.
        line: The line.

    Raises:
        Unreadable: That is not declared.
    """
    loss = parse_expression(names[0], line)
    if not isinstance(loss, Name):
        raise Unreadable(f"'{names[0]}' is not a symbol", line)
    parts = [one.strip() for one in names[1].split(",")]
    letters = count(1)

    def letter(kind: Type, family: Symbol | None, mark: str = "") -> Name:
        name = f"{loss.text}{mark or f'_{{[{next(letters)}]}}'}"
        place = Symbol(name, "array", line, context.level, kind)
        if family is not None:
            place = replace(place, kind="family", lowest=family.lowest, highest=family.highest)
        context.declare(place)
        return Name(name)

    quantities = [_quantity(context, names[0], one, line) for one in parts]
    linear = [_pair(context, *one, letter) for one in quantities]
    quadratic = _quadratic(context, quantities, letter)
    body = Plus((*linear, Times((Frac(Num(Fraction(1)), Num(Fraction(2))), quadratic), ("",))))
    context.understood.append((line, f"{names[0]} is any function of {names[1]}, tried as {to_latex(body)}"))
    return loss, body


def _quadratic(context: Context, quantities: Sequence[Quantity], letter: Letter) -> Expr:
    """A quadratic function of what a loss is a function of: any one, of one vector or number."""
    of, kind, family = quantities[0]
    if len(quantities) == 1 and family is None and (square := _SQUARES[_form(kind)]):
        side = kind.rows if kind.column else kind.cols
        return _put_in(square, letter(kind if kind.scalar else matrix(side, side), None, _COMPLETE), of)
    pairs = [_pair(context, *one, letter) for one in quantities]
    inner = Group("(", (Chain((pairs[0] if len(pairs) == 1 else Plus(tuple(pairs)),)),), ")")
    return Times((letter(SCALAR, None, ""), Sup(inner, Num(Fraction(2)))), ("",))


def _quantity(context: Context, loss: str, name: str, line: int) -> Quantity:
    """What a loss is a function of: a symbol with its shape, or a family with that of its members."""
    of = parse_expression(name, line)
    known = context.symbols.get(symbol_name(of) or "") if isinstance(of, Name | Sub | Sup) else None
    kind = None if known is None else type_of_whole(known)
    if known is None or kind is None or known.kind not in ("array", "family", "definition"):
        raise Unreadable(f"'{name}', of which {loss} is a function, is not declared", line)
    family = known.kind == "family" or (bool(known.params) and not is_entrywise(known))
    if family and len(known.params) > 1:
        raise Unreadable(f"'{name}', of which {loss} is a function, has more indices than are understood here", line)
    return of, kind, known if family else None


def _form(kind: Type) -> int:
    holds = (kind.scalar, not kind.vector, kind.column, True)
    return next(place for place, one in enumerate(holds) if one)


def _pair(context: Context, of: Expr, kind: Type, family: Symbol | None, letter: Letter) -> Expr:
    """The inner product of a quantity with an array of its own."""
    written, one = _PAIRS[_form(kind)], letter(kind, family)
    if family is None:
        return _put_in(written, one, of)
    index = next(Name(one) for one in "klmrst" if one not in context.symbols)
    members = (Sub(whole, (Chain((index,)),)) for whole in (one, of))
    return Big("sum", (Chain((index,)),), None, _put_in(written, *members))


def _put_in(form: str, array: Expr, quantity: Expr) -> Expr:
    """A form of an array D and a quantity O with these in their places."""
    new: dict[object, Expr] = {Name("D"): array, Name("O"): quantity}
    return substitute(parse_expression(form, 1), lambda node: new.get(node) if isinstance(node, Name) else None)  # type: ignore[return-value]


def tried_order(context: Context, names: Iterable[str]) -> int:
    """Up to which order the derivatives of the losses among some names are those of any function.

    Args:
        context: What is declared.
        names: Names that occur in a step.
    """
    losses = {name.split("_{[")[0] for name in names if "_{[" in name}
    return 2 if all(f"{one}{_COMPLETE}" in context.symbols for one in losses) else 1


def describe_losses(context: Context, names: Iterable[str]) -> str:
    """What some of the names stand for where they are such losses, '' if none is.

    Args:
        context: What is declared.
        names: Names that occur in a step.
    """
    known = context.symbols
    found = sorted({name.split("_{[")[0] for name in names if "_{[" in name})
    losses = [one for one in found if one in known and known[one].kind == "definition"]
    return ", ".join(f"{one} as a quadratic function of what it depends on" for one in losses)


def order_of_derivatives(claim: Relation) -> int:
    """How often something is differentiated at most.

    Args: claim, a relation.
    """
    return max(_order(claim.left, {}), _order(claim.right, {}))


def _order(term: Term, known: dict[int, int]) -> int:
    if id(term) not in known:
        own = max((_order(one, known) for one in term.args), default=0)
        known[id(term)] = own + (term.op == "deriv")
    return known[id(term)]
