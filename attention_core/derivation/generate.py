# Cases that satisfy the hypotheses by construction: frames for Gram conditions, solutions of linear equations,
# intervals for bounds. Every case is checked against all hypotheses before it is used.
"""Generation of cases at given sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flint import arb, fmpq

from attention_core.derivation.choices import MODES, Choices
from attention_core.derivation.declared import Context, Declared
from attention_core.derivation.frames import orthogonal_matrix, project, scaled
from attention_core.derivation.gram import Gram, Vector, gram_of
from attention_core.derivation.graph import Key, Undefined
from attention_core.derivation.lower import Infeasible, Lowering
from attention_core.derivation.normal import Given
from attention_core.derivation.numbers import COMPARE, Imprecise, evaluate, exact, precision, sign_of
from attention_core.derivation.terms import Relation


class NoCase(Exception):
    """This attempt found no case; another one may."""


@dataclass(frozen=True)
class Constraint:
    """`difference op 0` among nodes; `leaves` are the leaves it mentions, `order` how it is evaluated."""

    difference: int
    op: str
    leaves: frozenset[int]
    order: tuple[int, ...]
    left: int = -1
    right: int = -1


@dataclass
class Plan:
    """How cases are made at one tuple of sizes and indices."""

    low: Lowering
    symbols: list[Declared]
    constraints: list[Constraint] = field(default_factory=list)
    gram: Gram = field(default_factory=Gram)
    entries: dict[int, tuple[Declared, Key]] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)
    assigned: dict[int, int] = field(default_factory=dict)
    checks: list[Constraint] = field(default_factory=list)

    def given(self) -> Given:
        """What normal forms may use: signs said outright, assignments, and the equations among the hypotheses."""
        graph = self.low.graph
        found = set()
        for node, (symbol, _) in self.entries.items():
            if symbol.lower is not None and symbol.lower[0].op == "const" and symbol.lower[0].data >= 0:
                found.add(node)
        for c in self.constraints:
            value = graph.value(c.left)
            if c.op in ("<", "<=") and value is not None and value >= 0 and graph.ops[c.right] == "leaf":
                found.add(c.right)
        zeros = [c.difference for c in (*self.constraints, *self.checks) if c.op == "="]
        two = graph.const(fmpq(2))
        for vector, (node, squared) in self.gram.lengths.items():
            total = graph.add(graph.power(entry, two) for entry in vector)
            zeros.append(graph.sub(total, node if squared else graph.power(node, two)))
        return Given(frozenset(found), dict(self.assigned), tuple(zeros))


def instances(low: Lowering, relation: Relation) -> list[dict[str, int]]:
    """The index values for which a hypothesis is said."""
    found: list[dict[str, int]] = [dict(low.top)]
    for name, first, last in relation.over:
        found = [{**env, name: v} for env in found for v in range(low.whole(first, env), low.whole(last, env) + 1)]
    return [env for env in found if all(low.holds(test, env) for test in relation.where)]


def plan(context: Context, low: Lowering, symbols: list[Declared], hypotheses: Sequence[Relation]) -> Plan:
    """Lower the hypotheses at these sizes and decide how each leaf is drawn; raises `Infeasible`."""
    made = Plan(low, symbols)
    for symbol in symbols:
        for key in _keys(low, symbol):
            node = low.graph.leaf(key)
            made.entries[node] = (symbol, key)
            made.order.append(node)
    for relation in hypotheses:
        for env in instances(low, relation):
            if gram_of(made.gram, low, relation, env):
                left, right = low.lower(relation.left, env), low.lower(relation.right, env)
                made.checks += [
                    _constraint(low, a, relation.op, b) for a, b in zip(left.cells, right.cells, strict=True)
                ]
                continue
            left, right = low.lower(relation.left, env), low.lower(relation.right, env)
            for a, b in zip(left.cells, right.cells, strict=True):
                _split(made, low, a, relation.op, b)
    made.gram.require_room()
    _assign(made)
    return made


def _keys(low: Lowering, symbol: Declared) -> list[Key]:
    assert symbol.type is not None
    rows, cols = low.shape(symbol.type)
    members: list[tuple[int, ...]] = [()]
    if symbol.kind == "family":
        assert symbol.lowest is not None and symbol.highest is not None
        first, last = symbol.lowest.value(low.top), symbol.highest.value(low.top)
        if first.denominator != 1 or last.denominator != 1 or last - first > 400:
            raise Infeasible("a family of that length")
        members = [(v,) for v in range(int(first), int(last) + 1)]
    return [(symbol.name, (*m, i + 1, j + 1)) for m in members for i in range(rows) for j in range(cols)]


def _constraint(low: Lowering, left: int, op: str, right: int) -> Constraint:
    difference = low.graph.sub(left, right)
    order = low.graph.reachable([difference])
    leaves = frozenset(n for n in order if low.graph.ops[n] == "leaf")
    return Constraint(difference, op, leaves, tuple(order), left, right)


def _split(made: Plan, low: Lowering, left: int, op: str, right: int) -> None:
    """Constraints on magnitudes and maxima become several without them, so that they are linear."""
    graph = low.graph
    if op in (">", ">="):
        left, right, op = right, left, {">": "<", ">=": "<="}[op]
    if op in ("<", "<=") and graph.ops[left] == "abs":
        inner = graph.args[left][0]
        made.constraints += [_constraint(low, inner, op, right), _constraint(low, graph.neg(inner), op, right)]
    elif op in ("<", "<=") and graph.ops[left] == "max":
        for part in graph.args[left]:
            _split(made, low, part, op, right)
        return
    elif op in ("<", "<=") and graph.ops[right] == "min":
        for part in graph.args[right]:
            _split(made, low, left, op, part)
        return
    else:
        made.constraints.append(_constraint(low, left, op, right))


def _assign(made: Plan) -> None:
    """`x = expression` makes x follow from the others, as long as that goes round in no circle."""
    graph = made.low.graph
    pinned = set(made.gram.leaves())
    for c in made.constraints:
        if c.op != "=":
            continue
        for target, source in ((c.left, c.right), (c.right, c.left)):
            if (
                graph.ops[target] == "leaf"
                and target in made.entries
                and target not in pinned
                and target not in made.assigned
            ):
                below = set(graph.leaves([source]))
                if target in below or any(_follows(made, b, target) for b in below):
                    continue
                made.assigned[target] = source
                break


def _follows(made: Plan, node: int, target: int) -> bool:
    source = made.assigned.get(node)
    if source is None:
        return False
    below = made.low.graph.leaves([source])
    return target in below or any(_follows(made, b, target) for b in below)


Case = dict[int, Any]


def draw(made: Plan, choices: Choices) -> Case:
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
        for node in _assignment_order(made):
            values[node] = assigned_value(made, node, values)
        require(made, values)
    return values


def _draw_frames(made: Plan, choices: Choices, values: Case) -> None:
    """The vectors with Gram conditions."""
    graph = made.low.graph
    for group in made.gram.groups():
        needed = _with_sources(made, {leaf for v in group for leaf in made.gram.length_leaves(graph, v)})
        for node in made.order:
            if node in needed and node not in values and node not in made.assigned:
                values[node] = _draw_leaf(made, node, choices, values, {})
        for node in _assignment_order(made) if needed & made.assigned.keys() else ():
            if node in needed:
                values[node] = assigned_value(made, node, values)
        d = len(group[0])
        framed = made.gram.framed(group)
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


def _with_sources(made: Plan, leaves: set[int]) -> set[int]:
    """Some leaves, and all that those among them which follow from others follow from."""
    found, todo = set(leaves), list(leaves)
    while todo:
        source = made.assigned.get(todo.pop())
        more = set() if source is None else set(made.low.graph.leaves([source])) - found
        found |= more
        todo += more
    return found


def _direction(made: Plan, vector: Vector, drawn: list[tuple[Vector, list[fmpq]]], choices: Choices) -> list[fmpq]:
    """A random direction orthogonal to those it must be orthogonal to."""
    others = [direction for other, direction in drawn if made.gram.orthogonal(vector, other)]
    for _ in range(20):
        direction = project([choices.number() for _ in range(len(vector))], others)
        if any(direction) or vector not in made.gram.lengths:
            return direction
        choices.mode = "generic"
    raise NoCase


def with_length(made: Plan, direction: list[fmpq], length: tuple[int, bool], values: Case) -> list[Any]:
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
        return scaled(direction, found if squared else found * found)
    frozen = dict(values)

    def square() -> arb:
        (now,) = evaluate(graph, [node], frozen)
        return arb(now) if squared else arb(now) * arb(now)

    return scaled(direction, square)


def _draw_leaf(made: Plan, node: int, choices: Choices, values: Case, shared: dict[str, fmpq]) -> Any:
    """One entry within all bounds that are known by now."""
    symbol, _ = made.entries[node]
    if symbol.values:
        return fmpq(symbol.values[choices.draw(len(symbol.values))])
    low, high, open_low, open_high = _domain(made, symbol, values)
    ready = [c for c in made.constraints if node in c.leaves and all(n in values or n == node for n in c.leaves)]
    left_over = []
    for c in ready:
        bound = _linear(made, c, node, values)
        if bound is None:
            left_over.append(c)
            continue
        slope, offset = bound
        if slope == 0:
            if not COMPARE[c.op](sign_of(offset)):
                raise NoCase
            continue
        edge = -offset / slope
        if c.op == "=":
            if (low is not None and edge < low) or (high is not None and edge > high):
                raise NoCase
            if (open_low and edge == low) or (open_high and edge == high):
                raise NoCase
            return edge
        if c.op == "!=":
            left_over.append(c)
        elif slope > 0:  # slope x + offset <= 0
            if high is None or edge < high or (edge == high and c.op == "<"):
                high, open_high = edge, c.op == "<"
        elif low is None or edge > low or (edge == low and c.op == "<"):
            low, open_low = edge, c.op == "<"
    if choices.mode == "equal" and symbol.name in shared and not ready:
        return shared[symbol.name]
    for _ in range(12):
        value = choices.between(low, high, open_low, open_high)
        if value is None:
            raise NoCase
        if all(_holds(made, c, {**values, node: value}) for c in left_over):
            shared[symbol.name] = value
            return value
        if choices.mode in ("zeros", "ends", "equal"):
            choices.mode = "generic"
    raise NoCase


def _domain(made: Plan, symbol: Declared, values: Case) -> tuple[Any, Any, bool, bool]:
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


def _linear(made: Plan, c: Constraint, node: int, values: Case) -> tuple[Any, Any] | None:
    """Slope and offset of a constraint in one leaf, if it is linear there and exact."""
    try:
        at = [evaluate(made.low.graph, [c.difference], {**values, node: fmpq(k)}, c.order)[0] for k in (0, 1, 3)]
    except (Undefined, Imprecise):
        return None
    if not all(exact(v) for v in at) or at[2] - at[0] != 3 * (at[1] - at[0]):
        return None
    return at[1] - at[0], at[0]


def _holds(made: Plan, c: Constraint, values: Mapping[int, Any]) -> bool:
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


def flat(made: Plan, value: fmpq) -> Case:
    """The case with every entry of every array alike and every number of its own 1; `NoCase` if that is not allowed."""
    values: Case = {}
    for node, (symbol, _) in made.entries.items():
        if symbol.values:
            values[node] = fmpq(symbol.values[0])
        else:
            alone = symbol.kind == "array" and symbol.type is not None and symbol.type.scalar
            values[node] = fmpq(1) if alone else value
    with precision(128):
        for node in _assignment_order(made):
            values[node] = assigned_value(made, node, values)
        require(made, values, everywhere=True)
    return values


def require(made: Plan, values: Case, everywhere: bool = False) -> None:
    """Raise `NoCase` where a hypothesis, or an interval that an entry was not drawn from, does not hold."""
    if not all(_holds(made, c, values) for c in (*made.constraints, *made.checks)):
        raise NoCase
    gram = set(made.gram.leaves())
    for node, (symbol, _) in made.entries.items():
        if everywhere or node in made.assigned or node in gram:
            low, high, open_low, open_high = _domain(made, symbol, values)
            value = values[node]() if callable(values[node]) else values[node]
            if low is not None and not (value > low or (not open_low and value == low)):
                raise NoCase
            if high is not None and not (value < high or (not open_high and value == high)):
                raise NoCase


def _assignment_order(made: Plan) -> list[int]:
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


def assigned_value(made: Plan, node: int, values: Case) -> Any:
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
