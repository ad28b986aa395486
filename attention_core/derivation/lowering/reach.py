"""Reach of a limit under hypotheses about other symbols.

Whether a variable can go where its limit is taken, as far as symbols decide that the claim does not mention.
Hypotheses about those are not part of the limit; cases that satisfy them close to the place show that it is in reach.
"""

from __future__ import annotations

from collections.abc import Sequence

from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.lowering.lower import Lowering
from attention_core.derivation.terms.relevance import find_mentioned_names, relation_names, symbol_names
from attention_core.derivation.terms.terms import SCALAR, Relation, Term, integer

CLOSE = (10**3, 10**9)


def foreign(low: Lowering, limit: Term, relation: Relation) -> bool:
    """Whether a hypothesis ties what moves to arrays or numbers that the limit does not mention."""
    about = find_mentioned_names(low.context, limit)
    for name in list(about):
        about |= symbol_names(low.context, name)
    names = relation_names(low.context, relation)
    return any(n not in about and low.context.symbols[n].kind in ("array", "family") for n in names)


def approaches(low: Lowering, limit: Term, hypotheses: Sequence[Relation]) -> list[list[list[Relation]]]:
    """Relations that keep the variable close to its place and closer, for each side that it may come from.

    There are none where no hypothesis ties it to symbols that the limit does not mention: it can get there then.
    """
    name, way, side = limit.data
    if not any(name in relation_names(low.context, r) and foreign(low, limit, r) for r in hypotheses):
        return []
    symbol = low.context.symbols[name]
    if symbol.kind != "array":
        raise Unsettled(
            f"hypotheses tie {name} to symbols that the limit does not mention: put the limit into a section of its own"
        )
    leaf = Term("leaf", (), SCALAR, name)
    ways = [way] if way else [side] if side else [1, -1]
    return [[_near(leaf, limit, way, k, far) for far in CLOSE] for k in ways]


def _near(leaf: Term, limit: Term, way: int, sign: int, far: int) -> list[Relation]:
    """What keeps the variable close to its place."""
    if way:
        return [Relation(leaf, ">=" if sign > 0 else "<=", integer(sign * far))]
    step = Term("div", (integer(sign), integer(far)), SCALAR)
    edge = Term("add", (limit.args[1], step), SCALAR)
    inner, outer = (">", "<=") if sign > 0 else ("<", ">=")
    return [Relation(leaf, inner, limit.args[1]), Relation(leaf, outer, edge)]
