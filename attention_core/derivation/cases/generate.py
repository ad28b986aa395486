"""Generation of cases at given sizes.

Cases that satisfy the hypotheses by construction: frames for Gram conditions, solutions of linear equations,
intervals for bounds. How is said by `plans`, and what is `admissible` is checked before a case is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flint import arb, fmpq

from attention_core.derivation.algebra.frames import orthogonal_matrix, project, scale_to_length
from attention_core.derivation.cases.admissible import (
    NoCase,
    assigned_value,
    assignment_order,
    domain,
    holds,
    linear,
    require,
)
from attention_core.derivation.graph.choices import MODES, Choices
from attention_core.derivation.graph.numbers import COMPARE, Case, evaluate, exact, precision, sign_of
from attention_core.derivation.lowering.gram import Vector
from attention_core.derivation.lowering.plans import CasePlan


def draw(made: CasePlan, choices: Choices) -> Case:
    """One case; raises `NoCase`."""
    choices.mode = MODES[choices.draw(len(MODES))]
    values: Case = {}
    with precision(128):
        _draw_frames(made, choices, values)
        shared: dict[str, fmpq] = {}
        # the other way round, other entries follow from the bounds
        for node in made.order[::-1] if choices.draw(2) else made.order:
            if node in values or node in made.assigned:
                continue
            values[node] = _draw_leaf(made, node, choices, values, shared)
        for node in assignment_order(made):
            values[node] = assigned_value(made, node, values)
        require(made, values)
    return values


def _draw_frames(made: CasePlan, choices: Choices, values: Case) -> None:
    """The vectors with Gram conditions."""
    graph = made.low.graph
    for group in made.gram.groups():
        needed = _with_sources(made, {leaf for v in group for leaf in made.gram.length_leaves(graph, v)})
        for node in made.order:
            if node in needed and node not in values and node not in made.assigned:
                values[node] = _draw_leaf(made, node, choices, values, {})
        for node in assignment_order(made) if needed & made.assigned.keys() else ():
            if node in needed:
                values[node] = assigned_value(made, node, values)
        d = len(group[0])
        framed = made.gram.collect_frame(group)
        frame = orthogonal_matrix(d, choices) if framed else []
        drawn: list[tuple[Vector, list[fmpq]]] = []
        for vector in [*framed, *(v for v in group if v not in framed)]:
            if vector in framed:
                direction = frame[framed.index(vector)]
            else:
                direction = _direction(made, vector, drawn, choices)
            drawn.append((vector, direction))
            length = made.gram.lengths.get(vector)
            entries = list(direction) if length is None else with_length(made, direction, length, values)
            values.update(zip(vector, entries, strict=True))


def _with_sources(made: CasePlan, leaves: set[int]) -> set[int]:
    """Some leaves, and all that those among them which follow from others follow from."""
    found, todo = set(leaves), list(leaves)
    while todo:
        source = made.assigned.get(todo.pop())
        more = set() if source is None else set(made.low.graph.leaves([source])) - found
        found |= more
        todo += more
    return found


def _direction(made: CasePlan, vector: Vector, drawn: list[tuple[Vector, list[fmpq]]], choices: Choices) -> list[fmpq]:
    """A random direction orthogonal to those it must be orthogonal to."""
    others = [direction for other, direction in drawn if made.gram.orthogonal(vector, other)]
    for _ in range(20):
        direction = project([choices.number() for _ in range(len(vector))], others)
        if any(direction) or vector not in made.gram.lengths:
            return direction
        choices.mode = "generic"
    raise NoCase


def with_length(made: CasePlan, direction: list[fmpq], length: tuple[int, bool], values: Case) -> list[Any]:
    """Scale a direction; `length` is the node of the norm, or of its square."""
    node, squared = length
    graph = made.low.graph
    if not squared and graph.ops[node] == "sqrt":
        node, squared = graph.args[node][0], True
    (found,) = evaluate(graph, [node], values)
    if sign_of(found) < 0:
        raise NoCase
    if sign_of(found) == 0:
        return [fmpq(0)] * len(direction)
    if not any(direction):
        raise NoCase
    if exact(found):
        return scale_to_length(direction, found if squared else found * found)
    frozen = dict(values)

    def square() -> arb:
        (now,) = evaluate(graph, [node], frozen)
        return arb(now) if squared else arb(now) * arb(now)

    return scale_to_length(direction, square)


def _draw_leaf(made: CasePlan, node: int, choices: Choices, values: Case, shared: dict[str, fmpq]) -> Any:
    """One entry within all bounds that are known by now."""
    symbol, _ = made.entries[node]
    if symbol.values:
        return fmpq(symbol.values[choices.draw(len(symbol.values))])
    span = _Span(*domain(made, symbol, values))
    ready = [c for c in made.constraints if node in c.leaves and all(n in values or n == node for n in c.leaves)]
    left_over = []
    for c in ready:
        bound = linear(made, c, node, values)
        if bound is None:
            left_over.append(c)
            continue
        slope, offset = bound
        if slope == 0:
            if not COMPARE[c.op](sign_of(offset)):
                raise NoCase
        elif c.op == "=":
            return span.require(-offset / slope)
        elif c.op == "!=":
            left_over.append(c)
        else:
            span.cut(-offset / slope, c.op == "<", from_above=slope > 0)  # slope x + offset <= 0
    if choices.mode == "equal" and symbol.name in shared and not ready:
        return shared[symbol.name]
    for _ in range(12):
        value = choices.between(span.low, span.high, span.open_low, span.open_high)
        if value is None:
            raise NoCase
        if all(holds(made, c, {**values, node: value}) for c in left_over):
            shared[symbol.name] = value
            return value
        if choices.mode in ("zeros", "ends", "equal"):
            choices.mode = "generic"
    raise NoCase


@dataclass
class _Span:
    """An interval that linear constraints make narrower; an end of None is infinite."""

    low: Any
    high: Any
    open_low: bool
    open_high: bool

    def require(self, value: Any) -> Any:
        """The value that an equation leaves, if it lies inside."""
        if (self.low is not None and value < self.low) or (self.high is not None and value > self.high):
            raise NoCase
        if (self.open_low and value == self.low) or (self.open_high and value == self.high):
            raise NoCase
        return value

    def cut(self, edge: Any, strict: bool, from_above: bool) -> None:
        """Keep what lies below the edge, or above it."""
        if from_above:
            if self.high is None or edge < self.high or (edge == self.high and strict):
                self.high, self.open_high = edge, strict
        elif self.low is None or edge > self.low or (edge == self.low and strict):
            self.low, self.open_low = edge, strict


def flat(made: CasePlan, value: fmpq) -> Case:
    """The case with every entry of every array alike and every number of its own 1; `NoCase` if that is not allowed."""
    values: Case = {}
    for node, (symbol, _) in made.entries.items():
        if symbol.values:
            values[node] = fmpq(symbol.values[0])
        else:
            alone = symbol.kind == "array" and symbol.type is not None and symbol.type.scalar
            values[node] = fmpq(1) if alone else value
    with precision(128):
        for node in assignment_order(made):
            values[node] = assigned_value(made, node, values)
        require(made, values, everywhere=True)
    return values
