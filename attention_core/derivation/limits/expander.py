"""Expansions of nodes along one way to a limit, and limits decided by them.

The nodes of a graph as expansions in the variable that tends somewhere, each from the expansions of its arguments.
Functions that jump or have a kink are settled by which expansion ends up above which. Limits of averages go by
dominated convergence: the integrand is bounded, and its limit is known on every piece of the line of one random number.
Both sides of a claim are expanded exactly; numbers at finite places are never looked at, and what has no expansion here
stays undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import pairwise
from typing import Any

from flint import arb, fmpq, fmpq_poly

from attention_core.derivation.algebra.frames import Surd
from attention_core.derivation.algebra.roots import square_root
from attention_core.derivation.graph.bounds import bounds, enclosing
from attention_core.derivation.graph.compare import RELATIONS, Outcome, format_value, relation
from attention_core.derivation.graph.nodes import Graph, Undefined, Unsettled
from attention_core.derivation.graph.numbers import APPLY, COMPARE, WHOLE, Imprecise, ball, evaluate, exact, precision
from attention_core.derivation.limits.scales import VAGUE, Divided, End, Piece, Region, Scale, compare, is_zero
from attention_core.derivation.limits.transseries import Expansions, Insufficient, Series, constant, plain, variable


@dataclass(frozen=True)
class Goal:
    """What a `limit` node holds: the node whose limit it is, the leaf that moves, where to, under which conditions.

    `way` is 1 or -1 for plus or minus infinity, 0 for the place that is the node's first argument. `leaves` are the
    other leaves, in the order of the node's further arguments. `conditions` are (difference, relation to 0).
    """

    body: int
    leaf: int
    way: int
    side: int
    leaves: tuple[int, ...]
    conditions: tuple[tuple[int, str], ...]
    name: str


class Expander:
    """Expansions of nodes along one side; `values` has what every other leaf is."""

    def __init__(self, graph: Graph, goal: Goal, values: Mapping[int, Any], path: Series, count: int) -> None:
        self.graph, self.goal, self.values, self.count = graph, goal, values, count
        self.tools = Expansions(count)
        self.known: dict[int, Series] = {goal.leaf: path}

    def series(self, root: int) -> Series:
        """The expansion of a node."""
        for node in self.graph.reachable([root]):
            if node not in self.known:
                self.known[node] = self.of(node)
        return self.known[root]

    def of(self, node: int) -> Series:
        """The expansion of a node whose arguments have theirs."""
        op, data = self.graph.ops[node], self.graph.data[node]
        args = [self.known[a] for a in self.graph.args[node]]
        if op == "leaf":
            return self.leaf(node)
        if op == "mean":
            from attention_core.derivation.limits.expander import mean_limit

            return mean_limit(self, node)
        if op == "pow":
            return self.general_power(args[0], args[1])
        if op in SMOOTH:
            return SMOOTH[op](self.tools, args, data)
        return self.by_sign(op, args, data)

    def leaf(self, node: int) -> Series:
        """The value of a leaf as a constant."""
        value = self.values[node]
        if isinstance(value, Surd):
            return constant(square_root(value.square) * value.factor)
        return constant(value() if callable(value) else value)

    def general_power(self, base: Series, to: Series) -> Series:
        """A power; with an exponent that moves, e to the exponent times the logarithm."""
        if to.vanishes:
            return constant(fmpq(1))
        if to.error is None and len(to.terms) == 1 and to.terms[0][1].growth() == 0:
            return self.tools.power(base, plain(to.terms[0][0]))
        return self.tools.exp(self.tools.mul(to, self.tools.log(base)))

    def by_sign(self, op: str, args: list[Series], data: Any) -> Series:
        """Functions that are settled by which expansion ends up above which."""
        tools = self.tools
        if op == "abs":
            return tools.neg(args[0]) if args[0].eventual_sign() < 0 else args[0]
        if op == "sign":
            return constant(fmpq(args[0].eventual_sign()))
        if op == "indicator":
            return constant(fmpq(int(COMPARE[data](tools.sub(args[0], args[1]).eventual_sign()))))
        if op in ("max", "min"):
            best = args[0]
            for other in args[1:]:
                above = tools.sub(other, best).eventual_sign()
                best = other if (above > 0) == (op == "max") and above else best
            return best
        if op == "argmax":
            signs = [0 if k == data else tools.sub(other, args[data]).eventual_sign() for k, other in enumerate(args)]
            return Series() if max(signs) > 0 else constant(fmpq(1, signs.count(0)))
        if op in ("floor", "ceil"):
            return self.whole(op, args[0])
        if op == "limit" or op == "infinity":
            raise Unsettled("a limit inside a limit is not decided here")
        raise Unsettled(f"{op} has no expansion here")

    def whole(self, op: str, a: Series) -> Series:
        """floor or ceil of something that stays bounded."""
        big, middle, _ = self.tools.split(a)
        middle = plain(middle)
        if big:
            raise Unsettled(f"{op} of something that grows has no limit")
        if exact(middle) and middle.q == 1:
            away = self.tools.sub(a, constant(middle)).eventual_sign()
            return constant(middle + (min(away, 0) if op == "floor" else max(away, 0)))
        return constant(APPLY[op]([middle], op == "ceil"))


def _error_beyond(tools: Expansions, args: list[Series], data: Any) -> Series:
    """1 - erf, which is known to all its digits at a constant."""
    (a,) = args
    if a.error is None and all(s.growth() == 0 for _, s in a.terms):
        return constant(APPLY["erfc"]([plain(a.limit()[0])], None))
    return tools.sub(constant(fmpq(1)), tools.taylor("erf", a))


SMOOTH: dict[str, Callable[[Expansions, list[Series], Any], Series]] = {
    "const": lambda tools, args, data: constant(data),
    "pi": lambda tools, args, data: constant(arb.pi()),
    "add": lambda tools, args, data: tools.add(args),
    "mul": lambda tools, args, data: reduce(tools.mul, args),
    "inv": lambda tools, args, data: tools.inv(args[0]),
    "powi": lambda tools, args, data: tools.power(args[0], fmpq(data)),
    "sqrt": lambda tools, args, data: tools.power(args[0], fmpq(1, 2)),
    "exp": lambda tools, args, data: tools.exp(args[0]),
    "log": lambda tools, args, data: tools.log(args[0]),
    "sin": lambda tools, args, data: tools.taylor("sin", args[0]),
    "cos": lambda tools, args, data: tools.taylor("cos", args[0]),
    "arctan": lambda tools, args, data: tools.taylor("arctan", args[0]),
    "arcsin": lambda tools, args, data: tools.taylor("arcsin", args[0]),
    "erf": lambda tools, args, data: tools.taylor("erf", args[0]),
    "erfc": _error_beyond,
}
"""Operations whose expansion is made of those of their arguments by arithmetic."""


MAX_PARTS = 64


def mean_limit(expander: Expander, node: int) -> Series:
    """The expansion c + o(1) of a `mean` node whose integrand converges almost everywhere and is bounded."""
    graph, data = expander.graph, expander.graph.data[node]
    if expander.goal.leaf not in graph.args[node]:
        raise Unsettled("an average without a closed form stands beside the limit")
    if len(data.random) != 1:
        raise Unsettled("a limit of an average over more than one random number is not decided here")
    (leaf,) = data.random
    law = data.laws[0]
    low, high = bounds(graph, [data.body], _ranges(expander))[0]
    if not (abs(low) < float("inf") and abs(high) < float("inf")):
        raise Unsettled("what is averaged is not seen to be bounded, so the limit may not be taken inside")
    if law.name not in ("normal", "uniform"):
        raise Unsettled(f"a limit of an average over the law '{law.name}' is not decided here")
    parameters = [evaluate(graph, [p], _select_leaf_values(expander, p))[0] for p in law.parameters]
    if law.name == "normal" and not parameters[1] > 0:
        raise Unsettled("the variance is not seen to be positive")
    ends = (None, None) if law.name == "normal" else (parameters[0], parameters[1])
    if not all(end is None or exact(end) for end in ends):
        raise Unsettled("the ends of the uniform law are not rational")
    total: Any = fmpq(0)
    todo = [Region(*ends)]
    parts = 0
    while todo:
        region = todo.pop()
        parts += 1
        if parts > MAX_PARTS:
            raise Unsettled("the line of the random number falls into too many pieces")
        try:
            value = _limit_on(expander, data.body, leaf, region)
        except Divided as found:
            cuts = _sort_ends([region.low, *found.roots, region.high])
            todo += [Region(a, b) for a, b in pairwise(cuts)]
            continue
        if value != 0:
            total = total + value * _probability(law.name, parameters, region)
    result = constant(total)
    return Series(result.terms, VAGUE)


def _ranges(expander: Expander) -> dict[int, tuple[float, float]]:
    return {n: enclosing(v() if callable(v) else v) for n, v in expander.values.items()}


def _select_leaf_values(expander: Expander, node: int) -> dict[int, Any]:
    if expander.goal.leaf in expander.graph.reachable([node]):
        raise Unsettled("the law itself moves, and a limit of such an average is not decided here")
    return {n: expander.values[n] for n in expander.graph.leaves([node])}


def _limit_on(expander: Expander, body: int, leaf: int, region: Region) -> Any:
    """The limit of the integrand on a region, where it has to be one number."""
    inner = type(expander)(
        expander.graph, expander.goal, expander.values, expander.known[expander.goal.leaf], expander.count
    )
    line = Piece(fmpq_poly([0, 1]), fmpq_poly([1]), region)
    inner.known[leaf] = constant(line)
    value, far = inner.series(body).limit()
    assert not far, "a bounded integrand has no infinite limit"
    return plain(value)


def _sort_ends(ends: list[End]) -> list[End]:
    """Ends in their order, each once; roots that are not rational are distinguished by their balls."""
    inner: list[End] = []
    for end in ends[1:-1]:
        if any(end is other or (exact(end) and exact(other) and end == other) for other in inner):
            continue
        for other in inner:
            if not (exact(end) and exact(other)) and ball(end).overlaps(ball(other)):
                raise Unsettled("two roots lie too close together")
        inner.append(end)
    inner.sort(key=lambda e: ball(e).mid())
    return [ends[0], *inner, ends[-1]]


def _probability(law: str, parameters: list[Any], region: Region) -> Any:
    """The probability of an interval."""
    if law == "uniform":
        a, b = parameters
        return (region.high - region.low) / (b - a)
    mean, variance = parameters
    if region.low is None or region.high is None:
        if region.low is None and region.high is None:
            return fmpq(1)
        return (
            normal_below(region.high, mean, variance)
            if region.low is None
            else normal_below(-region.low, -mean, variance)
        )
    return normal_below(region.high, mean, variance) - normal_below(region.low, mean, variance)


def normal_below(x: Any, mean: Any, variance: Any) -> Any:
    """P(X <= x) of a normal law."""
    if exact(x) and exact(mean) and x == mean:
        return fmpq(1, 2)
    return ((ball(mean) - ball(x)) / (2 * ball(variance)).sqrt()).erfc() / 2


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
