r"""Quantities that a document defines, as a whole and as what is differentiated by.

A definition of each entry, `\hat{x}_i := (x_i - \mu) / \sigma`, defines the vector of all of them, which stands where
no index does. Something is differentiated by a defined quantity as if that were free: in its place stands a hole, which
takes the value of the quantity afterwards. So $\partial L / \partial y_j$ holds all that y is made of, and the other
entries of y.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from attention_core.derivation.terms.context import Symbol, is_entrywise, type_of_whole
from attention_core.derivation.terms.terms import ONE, SCALAR, Size, Term, matrix, product, size_term, transpose

_LETTER = "§entry"


def gather_entries(symbol: Symbol) -> Term | None:
    """The array whose entries a definition gives, None where it gives none, or no numbers.

    Args:
        symbol: A definition.
    """
    kind = type_of_whole(symbol)
    if not is_entrywise(symbol) or kind is None or symbol.term is None:
        return None
    letters = [f"{name}{_LETTER}" for name in symbol.params]
    places = [Term("int", (), SCALAR, letter) for letter in letters]
    out = Term("bind", (symbol.term, *places), SCALAR, symbol.params)
    if kind.kind == "matrix":
        (_, rows), (_, cols) = (*symbol.ranges, (ONE, ONE))[:2]
        spot = _unit(rows, places[0])
        out = Term("mul", (out, product(spot, transpose(_unit(cols, places[1]))) if places[1:] else spot), kind)
    first = Term("const", (), SCALAR, Fraction(1))
    for letter, (_, last) in zip(reversed(letters), reversed(symbol.ranges), strict=True):
        out = Term("reduce", (first, size_term(last), out), kind, ("sum", letter))
    return out


def _unit(size: Size, place: Term) -> Term:
    """The column of an identity matrix at a place."""
    if size == ONE:
        return Term("const", (), SCALAR, Fraction(1))
    eye = Term("eye", (), matrix(size, size), size)
    first = Term("const", (), SCALAR, Fraction(1))
    return Term("slice", (eye, first, size_term(size), place, place), matrix(size, ONE))


def intermediate(by: Term) -> Term | None:
    """The defined quantity that something is differentiated by, or by an entry of; None where it is none.

    Args: by, what stands below.
    """
    base = by.args[0] if by.op == "entry" else by
    return base if base.op == "bind" else None


def defined_by(quantity: Term) -> tuple[Term, tuple[str, ...]]:
    """What a defined quantity, a member of one, or all of its entries are defined as, and with which indices.

    Args: quantity, as `intermediate` finds it.
    """
    inner = quantity.args[0]
    if inner.op != "reduce" or not str(inner.data[1]).endswith(_LETTER):
        return inner, quantity.data
    while inner.op == "reduce":
        inner = inner.args[2]
    member = inner.args[0] if inner.op == "mul" else inner
    return member.args[0], member.data


def goes_through(body: Term, by: Term) -> bool:
    r"""Whether a term is made of a defined quantity: then it is differentiated by it as if that were free.

    With `P = softmax(S)` and `O = P V`, the derivative of a function of O by P holds V and lets P vary.

    Args:
        body: What is differentiated.
        by: What by.
    """
    base = intermediate(by)
    value = None if base is None else defined_by(base)[0]
    return value is not None and any(one.op == "bind" and one.args[0] is value for one in body.walk())


def with_hole(term: Term, value: Term, name: str, made: dict[int, Term]) -> Term:
    """A term with free numbers in the place of a defined quantity, and of each of its members.

    Args:
        term: The term.
        value: What the quantity is defined as.
        name: The name of the free numbers.
        made: What was made so far, by the terms that it was made of.
    """
    found = made.get(id(term))
    if found is None:
        args = tuple(with_hole(one, value, name, made) for one in term.args)
        if term.op == "bind" and term.args[0] is value:
            found = Term("hole", args[1:], term.type, name)
        else:
            same = all(one is other for one, other in zip(args, term.args, strict=True))
            found = term if same else replace(term, args=args)
        made[id(term)] = found
    return found
