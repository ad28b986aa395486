"""Functions of a number that a document applies entry by entry: `a = \\sigma(z)` of a vector z, and `\\sigma'(z)`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from attention_core.derivation.elaborate.intermediates import array_of_entries, replace_symbol
from attention_core.derivation.latex.syntax import Expr, Name, Unreadable
from attention_core.derivation.terms.context import Symbol
from attention_core.derivation.terms.terms import SCALAR, ShapeMismatch, Size, Term, Type, integer

if TYPE_CHECKING:
    from attention_core.derivation.elaborate.elaborator import Elaborator

BY_ENTRIES = "functions entry by entry"  # what a document says of them, see `notation_words`
_numbers = count(1)


def apply_by_entries(
    elab: Elaborator, argument: Expr, apply: Callable[[Elaborator, Expr], Term], always: bool = False
) -> Term:
    """The value of a function, of each entry where it has none of the whole and the document says so.

    Args:
        elab: The elaborator.
        argument: What the function is of.
        apply: The value at an argument.
        always: Whether the function is taken entry by entry whatever the document says.

    Raises:
        Unreadable: It has no value at the argument, nor at an entry.
        ShapeMismatch: Its shapes do not fit.
    """
    if BY_ENTRIES not in elab.context.stated and not always:
        return apply(elab, argument)
    plain = type(elab)(replace(elab.context.copy(), stated=elab.context.stated - {BY_ENTRIES}), elab.bound, elab.line)
    try:
        return apply(plain, argument)
    except (Unreadable, ShapeMismatch):
        whole = elab.term(argument)
        if whole.type.kind != "matrix":
            return apply(elab, argument)
    number = next(_numbers)
    entry, inner = f"§{number}", type(elab)(elab.context.copy(), elab.bound, elab.line)
    inner.context.symbols[entry] = Symbol(entry, "array", elab.line, elab.context.level, SCALAR)
    if always and whole.type.rows == whole.type.cols:
        raise elab.fail("a derivative of a square matrix may be that of a function of matrices: write its entries")
    value = apply(inner, Name(entry))
    if not value.type.scalar:
        raise elab.fail("a function that is applied entry by entry has a number as its value")
    ends = _ends_of(whole.type, number)
    places = [Term("int", (), SCALAR, letter) for letter in ends]
    one = integer(1)
    spot = places if len(places) == 2 else [places[0], one] if whole.type.column else [one, places[0]]
    return array_of_entries(whole.type, replace_symbol(value, entry, Term("entry", (whole, *spot), SCALAR), {}), ends)


def _ends_of(kind: Type, number: int) -> dict[str, Size]:
    """The indices of an array, each with where it ends."""
    sides = [kind.rows if kind.column else kind.cols] if kind.vector else [kind.rows, kind.cols]
    return {f"§{letter}{number}": side for letter, side in zip("ij", sides, strict=False)}
