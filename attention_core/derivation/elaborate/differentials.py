r"""Derivatives along a direction, `Df(x)[h]`, and differentials, $dY = dX \, W + X \, dW$.

Both move what varies by a multiple t of a change, and differentiate by t where it is 0: x to $x + t h$ in a function,
X to $X + t \, dX$ in all that Y is made of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from attention_core.derivation.elaborate.functions import expand_definition
from attention_core.derivation.latex.printer import symbol_name, to_latex
from attention_core.derivation.latex.syntax import Chain, Expr, Name
from attention_core.derivation.terms.context import Symbol
from attention_core.derivation.terms.terms import SCALAR, Term, integer, join_types, product

if TYPE_CHECKING:
    from attention_core.derivation.elaborate.elaborator import Elaborator

DIFFERENTIALS = "differentials"  # what a document speaks of, see `notation_words`
ALONG = "D"  # the call that a derivative along a direction is
_numbers = count(1)


def _multiple() -> Term:
    """A number that is 0, and by which may be differentiated."""
    return Term("marked", (integer(0),), SCALAR, f"t§{next(_numbers)}")


def derivative_along(elab: Elaborator, head: Expr, argument: Expr, direction: Expr) -> Term:
    """The derivative of a function of the document at an argument, along a direction.

    Args:
        elab: The elaborator.
        head: The function.
        argument: Where it is differentiated.
        direction: The change of the argument.

    Raises:
        Unreadable: It is not a function of one argument.
        ShapeMismatch: The direction has another shape than the argument.
    """
    symbol = elab.lookup(symbol_name(head) or "")
    if symbol is None or symbol.kind != "function" or len(symbol.params) != 1:
        raise elab.fail(f"{to_latex(head)} is not a function of one argument here")
    multiple, name = _multiple(), f"{symbol.params[0]}§{next(_numbers)}"
    given, way = elab.term(argument), elab.term(direction)
    moved = Term("add", (given, product(multiple, way)), join_types(given.type, way.type, "added along a direction"))
    inner = type(elab)(elab.context.copy(), elab.bound, elab.line)
    inner.context.symbols[name] = Symbol(name, "definition", elab.line, elab.context.level, term=moved)
    body = inner.term(expand_definition(inner, symbol, (Chain((Name(name),)),)))
    return Term("deriv", (body, multiple), body.type)


def differential_of(term: Term, changes: Mapping[str, str]) -> Term:
    """How a term changes to first order.

    Args:
        term: The term.
        changes: The symbols that vary, each with the name of its change.
    """
    multiple = _multiple()
    return Term("deriv", (_move(term, changes, multiple, {}), multiple), term.type)


def _move(term: Term, changes: Mapping[str, str], multiple: Term, made: dict[int, Term]) -> Term:
    found = made.get(id(term))
    if found is None:
        args = tuple(_move(one, changes, multiple, made) for one in term.args)
        same = all(one is other for one, other in zip(args, term.args, strict=True))
        found = term if same else replace(term, args=args)
        if term.op in ("leaf", "member") and term.data in changes:
            change = Term(term.op, args, term.type, changes[term.data])
            found = Term("add", (found, Term("mul", (multiple, change), term.type)), term.type)
        made[id(term)] = found
    return found
