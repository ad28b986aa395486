"""Limits decided by asymptotic expansions.

Limits at a point of the other variables: both sides are expanded exactly in the variable that tends somewhere.
Numbers at finite places are never looked at; what has no expansion here stays undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from flint import arb, fmpq

from attention_core.derivation.graph.compare import RELATIONS, Outcome, format_value, relation
from attention_core.derivation.graph.nodes import Graph, Undefined, Unsettled
from attention_core.derivation.graph.numbers import COMPARE, WHOLE, Imprecise, evaluate, exact, precision
from attention_core.derivation.limits.expander import Expander, Goal
from attention_core.derivation.limits.scales import Scale, compare, is_zero
from attention_core.derivation.limits.transseries import Expansions, Insufficient, Series, constant, plain, variable

COUNTS = (5, 9, 17)  # how many terms are kept; more where they cancel
BITS = (128, 512)
TOO_WIDE = "balls that stay too wide"


@dataclass(frozen=True)
class Side:
    """One way to get there: its name, and the variable as an expansion in something that tends to infinity."""

    text: str
    path: Series


def sides(goal: Goal, place: Any) -> list[Side]:
    """The ways to the place."""
    far = variable()
    if goal.way:
        return [Side("", Series(tuple((c * goal.way, s) for c, s in far.terms)))]
    tools = Expansions(3)
    near = tools.inv(far)
    both = [
        Side(" from above", tools.add((constant(place), near))),
        Side(" from below", tools.sub(constant(place), near)),
    ]
    return [both[0]] if goal.side > 0 else [both[1]] if goal.side < 0 else both


def open_sides(
    graph: Graph, goal: Goal, place: Any, values: Mapping[int, Any], count: int
) -> Iterator[tuple[Expander, str]]:
    """Expanders for the sides along which the hypotheses about the variable hold in the end."""
    found = False
    for side in sides(goal, place):
        expander = Expander(graph, goal, values, side.path, count)
        if all(COMPARE[op](expander.series(d).eventual_sign()) for d, op in goal.conditions):
            found = True
            yield expander, side.text
    if not found:
        raise Unsettled(
            f"the hypotheses do not let {goal.name} go there while everything else stays as it is: "
            "define what moves with it (Put ... := ...)"
        )


Answer = Any


def retry_finer(work: Callable[[int], Answer], bits: Sequence[int] = BITS) -> Answer:
    """The answer of `work(count)`, with more terms where they cancel and more bits where balls are too wide."""
    for prec in bits:
        for count in COUNTS:
            try:
                with precision(prec):
                    return work(count)
            except Insufficient:
                continue
            except Imprecise:
                break
        else:
            raise Unsettled("the leading terms cancel, so that the expansion does not tell the limit")
    raise Imprecise


def at_node(graph: Graph, node: int, leaves: Mapping[int, Any]) -> tuple[Goal, Any, dict[int, Any]]:
    """Goal, place and leaves of a `limit` node at a case."""
    goal: Goal = graph.data[node]
    (place,) = evaluate(graph, [graph.args[node][0]], leaves)
    return goal, place, {leaf: leaves[leaf] for leaf in goal.leaves}


def limit_value(graph: Graph, node: int, leaves: Mapping[int, Any]) -> Any:
    """The value of a limit at a case, for `numbers.evaluate`; raises `Undefined` where there is none."""

    def work(count: int) -> Any:
        goal, place, values = at_node(graph, node, leaves)
        found = []
        for expander, _ in open_sides(graph, goal, place, values, count):
            value, infinite = expander.series(goal.body).limit()
            if infinite:
                raise Undefined("the limit is infinite")
            found.append(plain(value))
        if len(found) == 2 and not (exact(found[0]) and exact(found[1]) and found[0] == found[1]):
            if (exact(found[0]) and exact(found[1])) or not arb(found[0]).overlaps(arb(found[1])):
                raise Undefined("the limits from both sides differ")
            raise Unsettled("whether the limits from both sides are the same could not be told")
        return found[0]

    for count in COUNTS:
        try:
            return work(count)
        except Insufficient:
            continue
    raise Unsettled("the leading terms cancel, so that the expansion does not tell the limit")


@dataclass(frozen=True)
class Tendency:
    """How two sides compare in the end: `holds`, both as text, and how fast the difference vanishes."""

    holds: bool
    left: str = ""
    right: str = ""
    rate: Scale | None = None


def tendency(left: Series, right: Series, tools: Expansions) -> Tendency:
    """Whether left - right vanishes, or left / right tends to 1 where both vanish or both grow."""
    (a, a_far), (b, b_far) = left.limit(), right.limit()
    same_number = not a_far and not b_far and is_zero(a - b)
    a, b = plain(a), plain(b)
    rate = vanishing(tools.sub(left, right))
    one, two = (f"{'-' if far < 0 else ''}infinity" if far else format_value(v) for v, far in ((a, a_far), (b, b_far)))
    if a_far != b_far:
        return Tendency(False, one, two)
    vanish = not a_far and is_zero(a) and is_zero(b)
    if a_far or (vanish and not (left.vanishes or right.vanishes)):
        quotient, far = tools.mul(left, tools.inv(right)).limit()
        quotient = plain(quotient)
        same, _ = (False, None) if far else relation(quotient, "=", fmpq(1), 128)
        if same is None:
            raise Imprecise
        shown_ratio = "infinity" if far else format_value(quotient)
        return Tendency(bool(same), f"a quotient of {shown_ratio}", "1", rate)
    same, _ = (True, None) if same_number else relation(a, "=", b, 128)
    if same is None:
        raise Imprecise
    return Tendency(bool(same), one, two, rate)


def vanishing(difference: Series) -> Scale | None:
    """How fast a difference vanishes: what is left of it where constants that agree have cancelled."""
    scales = [s for _, s in difference.terms] + ([difference.error] if difference.error is not None else [])
    return next((s for s in scales if s.growth() < 0), None)


def compare_limits(graph: Graph, pairs: Sequence[tuple[int, int]], leaves: Mapping[int, Any]) -> Outcome:
    """The outcome of `left -> right` at a case; both nodes of a pair are `limit` nodes, the right may be infinity."""
    rate: Scale | None = None
    for place, (left, right) in enumerate(pairs):
        try:
            outcomes = retry_finer(partial(_compare_sides, graph, left, right, leaves))
        except Imprecise:
            return Outcome(None, BITS[-1], note=TOO_WIDE)
        except Unsettled as error:
            return Outcome(None, note=str(error))
        for found, text in outcomes:
            if not found.holds:
                return Outcome(False, 0, None, place, found.left + text, found.right + text)
            rate = slower(rate, found.rate)
    return Outcome(True, 0, rate=rate)


def slower(left: Scale | None, right: Scale | None) -> Scale | None:
    """The slower of two rates; None says that a difference is exactly 0."""
    if left is None or right is None:
        return left or right
    try:
        return left if compare(left, right) >= 0 else right
    except Imprecise:
        return left


def _compare_sides(
    graph: Graph, left: int, right: int, leaves: Mapping[int, Any], count: int
) -> list[tuple[Tendency, str]]:
    goal, place, values = at_node(graph, left, leaves)
    out = []
    endless = graph.data[right] if graph.ops[right] == "infinity" else 0
    other: Goal = goal if endless else graph.data[right]
    if not endless:
        values = {**values, **{leaf: leaves[leaf] for leaf in other.leaves}}
    for expander, way in open_sides(graph, goal, place, values, count):
        one = expander.series(goal.body)
        if endless:
            value, far = one.limit()
            text = f"{'-' if far < 0 else ''}infinity" if far else format_value(plain(value))
            out.append((Tendency(far == endless, text, f"{'-' if endless < 0 else ''}infinity"), way))
            continue
        two = expander.series(other.body)
        found = Tendency(True) if goal.body == other.body else tendency(one, two, expander.tools)
        out.append((found, way))
    return out


WHOLE["limit"] = limit_value
RELATIONS["->"] = compare_limits
