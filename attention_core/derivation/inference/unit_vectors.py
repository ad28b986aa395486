r"""Standard basis vectors: `e_1` and `\mathbf{e}_j` where a formula makes them vectors and nothing says more."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from attention_core.derivation.elaborate.matrix_functions import UNITS
from attention_core.derivation.inference.constraints import Builder
from attention_core.derivation.inference.usage import UNIT, Need
from attention_core.derivation.latex.syntax import Chain, Name, Sub
from attention_core.derivation.terms.context import Symbol
from attention_core.derivation.terms.terms import SCALAR, Term, Type, integer, matrix, size_term


def defines_units(chains: Iterable[Chain]) -> bool:
    """Whether `e_i` alone is a side of a relation in some formulas: they say what it is then."""
    sides = (side for chain in chains if chain.ops for side in chain.exprs)
    return any(isinstance(side, Sub) and side.base in (Name("e"), Name(UNIT)) for side in sides)


def bound_units(builder: Builder, wanted: Iterable[Need]) -> None:
    """Give the index of a unit vector the range of its places, where nothing else bounds it.

    Args:
        builder: What the formulas say of their symbols; it is changed.
        wanted: What is declared.
    """
    wanted = list(wanted)
    free = {need.name for need in wanted if need.kind == "index" and need.name not in builder.ranges}
    for need in wanted:
        place = need.name.removeprefix(f"{UNIT}_{{").removesuffix("}")
        shape = builder.solver.find(builder.symbol(need.name)) if place in free and place != need.name else None
        if shape is not None and shape.kind == "array":
            builder.ranges[place] = shape.rows


def unit_vector(
    builder: Builder, name: str, kind: Type, line: int, domain: Callable[[Type], str]
) -> tuple[Symbol, str] | None:
    r"""The standard basis vector that `e_1` or `e_i` is, or the family of them where the index runs in a sum.

    Args:
        builder: What the formulas say of their symbols.
        name: The name that is declared.
        kind: The type that the formulas give it.
        line: The line.
        domain: Writes a type as a domain.

    Returns:
        The symbol, and what it is read as; None of anything else, and where a formula says what `e_i` is.
    """
    family = name == UNIT
    place = "k" if family else _place_of(builder, name)
    if not place or not kind.column or builder.defines_units:
        return None
    at = integer(int(place)) if place.isdigit() else Term("int", (), SCALAR, place)
    eye = Term("eye", (), matrix(kind.rows, kind.rows), kind.rows)
    column = Term("slice", (eye, integer(1), size_term(kind.rows), at, at), kind)
    about = kind.rows.symbols() | (set() if family or place.isdigit() else {place})
    params = (place,) if family else ()
    level = builder.context.level
    symbol = Symbol(name, "definition", line, level, term=column, params=params, mentions=frozenset(about))
    stated = "; the document says so" if UNITS in builder.context.stated else ""
    return symbol, rf"e_{{{place}}} \in {domain(kind)} (unit vector {place} of {domain(kind)}{stated})"


def _place_of(builder: Builder, name: str) -> str:
    """The number or index below the letter, '' of any other name."""
    if not name.startswith(f"{UNIT}_{{"):
        return ""
    place = name.removeprefix(f"{UNIT}_{{").removesuffix("}")
    known = builder.context.symbols.get(place)
    whole = place in builder.ranges or (known is not None and known.kind in ("index", "size"))
    return place if whole or (place.isdigit() and place != "0") else ""
