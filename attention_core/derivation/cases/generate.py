"""Cases generated and completed at given sizes, from values that the hypotheses admit.

Which values an entry may have: the ends of its interval, what constraints leave, what follows from other entries.
Cases satisfy the hypotheses by construction: frames for Gram conditions, solutions of linear equations, intervals for
bounds; `plans` says how. Every case is checked against all hypotheses before it is used.

From values of the free entries to a whole case: entries that equations fix are solved for, lengths are set.
The same plan is carried out in float64 at many points and exactly at one, so that the search meets the hypotheses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flint import arb, fmpq

from attention_core.derivation.algebra.frames import Surd, orthogonal_matrix, project, scale_to_length
from attention_core.derivation.cases.permutations import find_squares, mix_permutations
from attention_core.derivation.graph.choices import Choices
from attention_core.derivation.graph.nodes import Undefined, square_root
from attention_core.derivation.graph.numbers import (
    COMPARE,
    Case,
    Column,
    Imprecise,
    columns,
    evaluate,
    exact,
    precision,
    sign_of,
)
from attention_core.derivation.lowering.plans import CasePlan, Constraint, Vector
from attention_core.derivation.terms.context import Symbol


class NoCase(Exception):
    """This attempt found no case; another one may."""


def domain(made: CasePlan, symbol: Symbol, values: Case) -> tuple[Any, Any, bool, bool]:
    """The ends of the symbol's interval as rationals, moved inwards where they are not rational."""
    if symbol.name in made.ends:
        return made.ends[symbol.name]
    ends: list[Any] = []
    fixed = True
    for bound, inward in ((symbol.lower, 1), (symbol.upper, -1)):
        if bound is None:
            ends.append((None, False))
            continue
        node = made.low.number(bound[0])
        fixed = fixed and made.low.graph.value(node) is not None
        if any(leaf not in values for leaf in made.low.graph.leaves([node])):
            raise NoCase
        (end,) = evaluate(made.low.graph, [node], values)
        ends.append((end, bound[1]) if exact(end) else (_inward(end, inward), False))
    found = ends[0][0], ends[1][0], ends[0][1], ends[1][1]
    if fixed:
        made.ends[symbol.name] = found
    return found


def _inward(value: arb, direction: int) -> fmpq:
    scale = 1 << 40
    shifted = (value * scale).floor() if direction < 0 else (value * scale).ceil()
    whole = shifted.lower() if direction < 0 else shifted.upper()
    return fmpq(int(whole.floor().unique_fmpz() or 0), scale)


def linear(made: CasePlan, c: Constraint, node: int, values: Case) -> tuple[Any, Any] | None:
    """Slope and offset of a constraint in one leaf, if it is linear there and exact."""
    if node in (c.left, c.right):
        other = _read(made, c.right if node == c.left else c.left, values)
        if other is not None and c.left != c.right:
            return (fmpq(1), -other) if node == c.left else (fmpq(-1), other)
    try:
        at = [evaluate(made.low.graph, [c.difference], {**values, node: fmpq(k)}, c.order)[0] for k in (0, 1, 3)]
    except (Undefined, Imprecise):
        return None
    if not all(exact(v) for v in at) or at[2] - at[0] != 3 * (at[1] - at[0]):
        return None
    return at[1] - at[0], at[0]


def _read(made: CasePlan, node: int, values: Mapping[int, Any]) -> fmpq | None:
    """The value of a node that is a number or a leaf with a rational value; None of any other."""
    if node < 0:
        return None
    graph = made.low.graph
    found = graph.data[node] if graph.ops[node] == "const" else values.get(node)
    return found if type(found) is fmpq else None


def holds(made: CasePlan, c: Constraint, values: Mapping[int, Any]) -> bool:
    """Whether a constraint holds; where no precision tells, one that admits equality does."""
    left, right = _read(made, c.left, values), _read(made, c.right, values)
    if left is not None and right is not None:
        return COMPARE[c.op](sign_of(left - right))
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
    if not all(holds(made, c, values) for c in made.distinct()):
        raise NoCase
    gram = set(made.gram.leaves())
    for node, (symbol, _) in made.entries.items():
        if everywhere or node in made.assigned or node in gram:
            value = values[node]() if callable(values[node]) else values[node]
            if symbol.lower is symbol.upper is None:
                continue
            low, high, open_low, open_high = domain(made, symbol, values)
            if low is not None and not (value > low or (not open_low and value == low)):
                raise NoCase
            if high is not None and not (value < high or (not open_high and value == high)):
                raise NoCase


def assignment_order(made: CasePlan) -> list[int]:
    """The entries that follow from others, each after those it follows from."""
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


def draw(made: CasePlan, choices: Choices) -> Case:
    """One case; raises `NoCase`."""
    choices.mode = made.modes[choices.draw(len(made.modes))]
    try:
        return _draw_case(made, choices, {})
    except NoCase:
        squares = find_squares(made)
        if not squares and not made.assigned:
            raise
    mixed = [mix_permutations(square, choices) for square in squares]
    return _draw_case(made, choices, {node: value for one in mixed for node, value in one.items()}, again=True)


def _draw_case(made: CasePlan, choices: Choices, values: Case, again: bool = False) -> Case:
    """The entries that have no value yet; `again` says that what follows from others is known as soon as these are."""
    waiting = {node: set(made.low.graph.leaves([made.assigned[node]])) for node in made.assigned} if again else {}
    with precision(128):
        _draw_frames(made, choices, values)
        shared: dict[str, fmpq] = {}
        # the other way round, other entries follow from the bounds
        for node in made.order[::-1] if choices.draw(2) else made.order:
            if node in values or node in made.assigned:
                continue
            values[node] = _draw_leaf(made, node, choices, values, shared)
            while ready := [one for one, sources in waiting.items() if sources <= values.keys()]:
                for one in ready:
                    values[one] = assigned_value(made, one, values)
                    del waiting[one]
        for node in assignment_order(made):
            values[node] = assigned_value(made, node, values)
        require(made, values, everywhere=again)
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
    ready = [c for c in made.constraints_on(node) if all(n in values or n == node for n in c.leaves)]
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


PROBES = (0, 1, -1, 2)  # a quadratic is known from three of them, the last one tells it from other functions


@dataclass
class Completion:
    """How the entries of a plan follow from the free ones: `steps` in order, each (kind, what, of what)."""

    plan: CasePlan
    free: list[int] = field(default_factory=list)
    steps: list[tuple[str, Any, Any]] = field(default_factory=list)

    def fill(self, values: dict[int, Column]) -> Column:
        """Complete every point in place; which points meet the hypotheses."""
        import numpy as np

        graph = self.plan.low.graph
        good: Any = np.ones(len(next(iter(values.values()))), dtype=bool)
        with np.errstate(all="ignore"):
            for kind, what, of in self.steps:
                if kind == "follows":
                    values[what] = columns(graph, graph.reachable([of]), values)[of] + 0.0
                elif kind == "length":
                    good = good & self._scale(values, what, of)
                else:
                    values[what], real = self._solve(values, what, of)
                    good = good & real
            allowed: Column = good & self._find_allowed_points(values)
            return allowed

    def _scale(self, values: dict[int, Column], vector: Vector, length: tuple[int, bool]) -> Column:
        import numpy as np

        node, squared = length
        graph = self.plan.low.graph
        wanted: Any = columns(graph, graph.reachable([node]), values)[node]
        have = np.sqrt(sum(values[n] ** 2 for n in vector))
        factor = (np.sqrt(wanted) if squared else wanted) / have
        for n in vector:
            values[n] = values[n] * factor
        return np.asarray(np.isfinite(factor))

    def _solve(self, values: dict[int, Column], leaf: int, c: Constraint) -> tuple[Any, Any]:
        import numpy as np

        hint, graph = values[leaf], self.plan.low.graph
        at = [columns(graph, c.order, {**values, leaf: np.full_like(hint, k)})[c.difference] for k in PROBES]
        a, b = (at[1] + at[2]) / 2 - at[0], (at[1] - at[2]) / 2
        fits = np.abs(4 * a + 2 * b + at[0] - at[3]) <= 1e-9 * (1 + np.abs(at[3]))
        root = np.sqrt(b * b - 4 * a * at[0])
        straight = np.abs(a) <= 1e-12 * (np.abs(b) + np.abs(at[0]))
        found = np.where(straight, -at[0] / b, (-b + np.where(hint >= 0, 1, -1) * np.sign(a) * root) / (2 * a))
        return found, fits & np.isfinite(found)

    def _find_allowed_points(self, values: dict[int, Column]) -> Any:
        """Which points lie within all intervals and sets and meet the inequalities among the hypotheses."""
        import numpy as np

        plan, graph = self.plan, self.plan.low.graph
        good: Any = True
        for node, (symbol, _) in plan.entries.items():
            if symbol.values:
                good = good & np.isin(values[node], symbol.values)
            for bound, way in ((symbol.lower, 1), (symbol.upper, -1)):
                if bound is None:
                    continue
                end = plan.low.number(bound[0])
                gap: Any = (values[node] - columns(graph, graph.reachable([end]), values)[end]) * way
                good = good & ((gap > 0) if bound[1] else (gap >= 0))
        for c in plan.constraints:
            if c.op != "=" and c.leaves:
                gap = columns(graph, c.order, values)[c.difference]
                good = good & {"<": gap < 0, "<=": gap <= 0, "!=": gap != 0}[c.op]
        return good

    def case(self, free: dict[int, fmpq]) -> Case:
        """The exact case; raises `NoCase` where the hypotheses do not hold."""
        values: Case = dict(free)
        with precision(128):
            for kind, what, of in self.steps:
                if kind == "follows":
                    values[what] = assigned_value(self.plan, what, values)
                elif kind == "length":
                    direction = [values[n] for n in what]
                    lengths = with_length(self.plan, direction, of, values)
                    values.update(zip(what, lengths, strict=True))
                else:
                    values[what] = self._root(values, what, of)
            require(self.plan, values, everywhere=True)
        if any(s.values and values[n] not in s.values for n, (s, _) in self.plan.entries.items()):
            raise NoCase
        return values

    def _root(self, values: Case, leaf: int, c: Constraint) -> Any:
        at = [evaluate(self.plan.low.graph, [c.difference], {**values, leaf: fmpq(k)}, c.order)[0] for k in PROBES]
        if not all(exact(v) for v in at):
            raise NoCase
        a, b, free = (at[1] + at[2]) / 2 - at[0], (at[1] - at[2]) / 2, at[0]
        if 4 * a + 2 * b + free != at[3] or (a == 0 and b == 0):
            raise NoCase
        if a == 0:
            return -free / b
        square, sign = b * b - 4 * a * free, 1 if values[leaf] >= 0 else -1
        sign = sign if a > 0 else -sign
        if square < 0:
            raise NoCase
        root = square_root(square)
        if root is not None:
            return (-b + sign * root) / (2 * a)
        if b == 0:
            return Surd(sign / (2 * a), square)
        return lambda: (sign * arb(square).sqrt() - arb(b)) / arb(2 * a)


def completion(plan: CasePlan) -> Completion | None:
    """How a plan's cases follow from free entries; None where a group of vectors needs a frame, or no entry is left."""
    if plan.gram.pairs or any(c.op not in COMPARE for c in plan.constraints):
        return None
    graph, made = plan.low.graph, Completion(plan)
    solved: set[int] = set(plan.assigned) | set(plan.gram.leaves())
    waiting: list[tuple[str, Any, Any, set[int]]] = []
    for vector, length in plan.gram.lengths.items():
        waiting.append(("length", vector, length, set(graph.leaves([length[0]]))))
    for node, source in plan.assigned.items():
        waiting.append(("follows", node, source, set(graph.leaves([source]))))
    for c in {c.difference: c for c in plan.constraints if c.op == "="}.values():  # each once
        if not c.leaves or plan.assigned.get(c.left) == c.right or plan.assigned.get(c.right) == c.left:
            continue
        target = next((n for n in reversed(plan.order) if n in c.leaves and n not in solved), None)
        if target is None:
            return None
        solved.add(target)
        waiting.append(("root", target, c, set(c.leaves) - {target}))
    known = set(plan.entries) - solved
    while waiting:
        ready = next((w for w in waiting if w[3] <= known), None)
        if ready is None:
            return None
        waiting.remove(ready)
        made.steps.append(ready[:3])
        known |= set(ready[1]) if ready[0] == "length" else {ready[1]}
    made.free = [n for n in plan.order if n not in plan.assigned]  # the value given to a root says which of two
    return made if made.free else None
