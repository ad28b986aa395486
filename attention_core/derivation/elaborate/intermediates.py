r"""Quantities that a document defines, as a whole and as what is differentiated by.

A definition of each entry, `\hat{x}_i := (x_i - \mu) / \sigma`, defines the vector of all of them, which stands where
no index does. Something is differentiated by a defined quantity as if that were free: in its place stands a hole, which
takes the value of the quantity afterwards. So $\partial L / \partial y_j$ holds all that y is made of, and the other
entries of y.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from attention_core.derivation.terms.context import Symbol, is_entrywise, type_of_whole
from attention_core.derivation.terms.terms import ONE, SCALAR, Size, Term, Type, matrix, product, size_term, transpose

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
    value = Term("bind", (symbol.term, *places), SCALAR, symbol.params)
    return array_of_entries(kind, value, dict(zip(letters, (last for _, last in symbol.ranges), strict=True)))


def array_of_entries(kind: Type, value: Term, ends: Mapping[str, Size]) -> Term:
    """An array by its entries.

    Args:
        kind: Its shape.
        value: The entry at some indices.
        ends: These, in their order, and where each ends; they start at 1.
    """
    out, places = value, [Term("int", (), SCALAR, letter) for letter in ends]
    if kind.kind == "matrix":
        spots = [_unit(last, place) for place, last in zip(places, ends.values(), strict=True)]
        spot = product(spots[0], transpose(spots[1])) if spots[1:] else spots[0]
        out = Term("mul", (value, spot if kind.column or spots[1:] else transpose(spot)), kind)
    first = Term("const", (), SCALAR, Fraction(1))
    for letter, last in reversed(list(ends.items())):
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


def definition_of(quantity: Term) -> tuple[Term, tuple[str, ...]]:
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
    value = None if base is None else definition_of(base)[0]
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


def replace_symbol(term: Term, name: str, value: Term, made: dict[int, Term]) -> Term:
    """A term with another one in the place of a symbol.

    Args:
        term: The term.
        name: The symbol, which no definition mentions.
        value: What stands in its place.
        made: What was made so far, by the terms that it was made of.
    """
    found = made.get(id(term))
    if found is None:
        args = tuple(replace_symbol(one, name, value, made) for one in term.args)
        same = all(one is other for one, other in zip(args, term.args, strict=True))
        found = value if term.op == "leaf" and term.data == name else term if same else replace(term, args=args)
        made[id(term)] = found
    return found
