"""Values that the hypotheses admit.

Which values an entry may have: the ends of its interval, what constraints leave, what follows from other entries.
Every case is checked here against all hypotheses before it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flint import arb, fmpq

from attention_core.derivation.graph.nodes import Undefined
from attention_core.derivation.graph.numbers import COMPARE, Case, Imprecise, evaluate, exact, precision, sign_of
from attention_core.derivation.lowering.plans import CasePlan, Constraint
from attention_core.derivation.terms.context import Symbol


class NoCase(Exception):
    """This attempt found no case; another one may."""


def domain(made: CasePlan, symbol: Symbol, values: Case) -> tuple[Any, Any, bool, bool]:
    """The ends of the symbol's interval as rationals, moved inwards where they are not rational."""
    ends: list[Any] = []
    for bound, inward in ((symbol.lower, 1), (symbol.upper, -1)):
        if bound is None:
            ends.append((None, False))
            continue
        node = made.low.number(bound[0])
        if any(leaf not in values for leaf in made.low.graph.leaves([node])):
            raise NoCase
        (found,) = evaluate(made.low.graph, [node], values)
        ends.append((found, bound[1]) if exact(found) else (_inward(found, inward), False))
    return ends[0][0], ends[1][0], ends[0][1], ends[1][1]


def _inward(value: arb, direction: int) -> fmpq:
    scale = 1 << 40
    shifted = (value * scale).floor() if direction < 0 else (value * scale).ceil()
    whole = shifted.lower() if direction < 0 else shifted.upper()
    return fmpq(int(whole.floor().unique_fmpz() or 0), scale)


def linear(made: CasePlan, c: Constraint, node: int, values: Case) -> tuple[Any, Any] | None:
    """Slope and offset of a constraint in one leaf, if it is linear there and exact."""
    try:
        at = [evaluate(made.low.graph, [c.difference], {**values, node: fmpq(k)}, c.order)[0] for k in (0, 1, 3)]
    except (Undefined, Imprecise):
        return None
    if not all(exact(v) for v in at) or at[2] - at[0] != 3 * (at[1] - at[0]):
        return None
    return at[1] - at[0], at[0]


def holds(made: CasePlan, c: Constraint, values: Mapping[int, Any]) -> bool:
    """Whether a constraint holds; where no precision tells, one that admits equality does."""
    for bits in (128, 512, 2048):
        try:
            with precision(bits):
                (found,) = evaluate(made.low.graph, [c.difference], values, c.order)
                if not exact(found) and c.op == "=":  # enclosed, by construction
                    return bool(found.contains(0))
                return COMPARE[c.op](sign_of(found))
        except Imprecise:
            continue
        except Undefined:
            return False
    return c.op in ("<=", ">=", "=")


def require(made: CasePlan, values: Case, everywhere: bool = False) -> None:
    """Raise `NoCase` where a hypothesis, or an interval that an entry was not drawn from, does not hold."""
    if not all(holds(made, c, values) for c in (*made.constraints, *made.checks)):
        raise NoCase
    gram = set(made.gram.leaves())
    for node, (symbol, _) in made.entries.items():
        if everywhere or node in made.assigned or node in gram:
            low, high, open_low, open_high = domain(made, symbol, values)
            value = values[node]() if callable(values[node]) else values[node]
            if low is not None and not (value > low or (not open_low and value == low)):
                raise NoCase
            if high is not None and not (value < high or (not open_high and value == high)):
                raise NoCase


def assignment_order(made: CasePlan) -> list[int]:
    """The entries that follow from others, each behind those it follows from."""
    order: list[int] = []

    def visit(node: int) -> None:
        if node in order:
            return
        for leaf in made.low.graph.leaves([made.assigned[node]]):
            if leaf in made.assigned:
                visit(leaf)
        order.append(node)

    for node in made.assigned:
        visit(node)
    return order


def assigned_value(made: CasePlan, node: int, values: Case) -> Any:
    """The value of an entry that follows from others, a function of nothing where it is not rational."""
    graph, source = made.low.graph, made.assigned[node]
    try:
        (found,) = evaluate(graph, [source], values)
    except (Undefined, Imprecise):
        raise NoCase from None
    if exact(found):
        return found
    frozen = dict(values)

    def value() -> arb:
        (now,) = evaluate(graph, [source], frozen)
        return now

    return value
