"""Reach of a limit under hypotheses about other symbols.

Whether a variable can go where its limit is taken, as far as symbols decide that the claim does not mention.
Hypotheses about those are not part of the limit; cases that satisfy them close to the place show that it is in reach.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.lowering.lower import Infeasible, Lowering
from attention_core.derivation.lowering.plans import plan
from attention_core.derivation.terms.relevance import mentioned, relation_names, symbol_names
from attention_core.derivation.terms.terms import SCALAR, Relation, Term, integer

if TYPE_CHECKING:
    from attention_core.derivation.decision.decide import Decider

CLOSE = (10**3, 10**9)


def foreign(low: Lowering, limit: Term, relation: Relation) -> bool:
    """Whether a hypothesis ties what moves to arrays or numbers that the limit does not mention."""
    about = mentioned(low.context, limit)
    for name in list(about):
        about |= symbol_names(low.context, name)
    names = relation_names(low.context, relation)
    return any(n not in about and low.context.symbols[n].kind in ("array", "family") for n in names)


def require_reach(decider: Decider, env: dict[str, int]) -> None:
    """Raise `Unsettled` unless cases exist with the variable close to its place, from one side at least."""
    low = Lowering(decider.context, env)
    limit = decider.claim.left
    name, way, side = limit.data
    tied = [r for r in decider.hypotheses if name in relation_names(decider.context, r) and foreign(low, limit, r)]
    if not tied:
        return
    symbol = decider.context.symbols[name]
    if symbol.kind != "array":
        raise Unsettled(
            f"hypotheses tie {name} to symbols that the limit does not mention: put the limit into a section of its own"
        )
    leaf = Term("leaf", (), SCALAR, name)
    ways = [way] if way else [side] if side else [1, -1]
    if not any(all(_has_case(decider, env, _near(leaf, limit, way, k, far)) for far in CLOSE) for k in ways):
        raise Unsettled(
            f"no values were found that satisfy the hypotheses with {name} close to its limit: "
            "put the limit into a section of its own, or define what moves with it (Put ... := ...)"
        )


def _near(leaf: Term, limit: Term, way: int, sign: int, far: int) -> list[Relation]:
    """What keeps the variable close to its place."""
    if way:
        return [Relation(leaf, ">=" if sign > 0 else "<=", integer(sign * far))]
    step = Term("div", (integer(sign), integer(far)), SCALAR)
    edge = Term("add", (limit.args[1], step), SCALAR)
    inner, outer = (">", "<=") if sign > 0 else ("<", ">=")
    return [Relation(leaf, inner, limit.args[1]), Relation(leaf, outer, edge)]


def _has_case(decider: Decider, env: dict[str, int], near: Sequence[Relation]) -> bool:
    low = Lowering(decider.context, env)
    try:
        made = plan(decider.context, low, decider.symbols, [*near, *decider.hypotheses])
    except Infeasible:
        return False
    return decider.case(made, decider.effort.seed)[1] is not None
