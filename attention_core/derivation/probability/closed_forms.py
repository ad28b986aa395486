"""Expectations of products that cannot be taken apart further.

Closed forms of one factor of an expectation: which one there is, and finite laws by going through their values.
Normal numbers have theirs in `normal_moments`; functions that are averaged alone (half lines, |x|, max) are at the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from attention_core.derivation.graph.nodes import Graph, TooLarge
from attention_core.derivation.probability.distributions import DISCRETE, MAX_OUTCOMES
from attention_core.derivation.probability.moments import DependenceUnsaid, Group, Moments, Monomial, NotPolynomial
from attention_core.derivation.probability.normal_moments import NormalMoments


def part_moment(engine: Moments, groups: set[Group], part: Monomial) -> int:
    """E of one part: factors with their powers, about `groups`."""
    graph = engine.graph
    leaves_only = all(node in engine.random for node, _ in part)
    laws = {g: engine.drawn[g].law.name for g in groups}
    if all(name == "normal" for name in laws.values()):
        found = NormalMoments(engine).moment(part)
        if found is not None:
            return found
    if leaves_only:
        (group,) = groups
        if len(part) != 1:
            raise DependenceUnsaid(f"whether the entries of {group[0]} are independent is not said")
        return engine.drawn[group].moment(part[0][1])
    finite = sorted(g for g in groups if laws[g] in DISCRETE)
    if finite:
        return over_outcomes(engine, finite[0], part)
    if len(part) == 1:
        found = lone_function(engine, part[0][0], part[0][1], sorted(groups))
        if found is not None:
            return found
    what = ", ".join(sorted({graph.ops[n] for n, _ in part if n not in engine.random}))
    raise NotPolynomial(
        f"the average of {what} of something random has no closed form here: "
        "write '% check: mc alpha=1e-9 beta=1e-6 detect=5%' above the step to test it with random samples"
    )


def over_outcomes(engine: Moments, group: Group, part: Monomial) -> int:
    """E = sum_v P(v) E[. given v] over the values of one finite law."""
    graph, drawn = engine.graph, engine.drawn[group]
    leaves = {n for node, _ in part for n in engine.leaves_below(node) if engine.group(n) == group}
    if len(leaves) != 1:
        raise DependenceUnsaid(f"whether the entries of {group[0]} are independent is not said")
    support = drawn.support()
    assert support is not None
    engine.outcomes *= len(support)
    if engine.outcomes > MAX_OUTCOMES:
        raise TooLarge(f"more than {MAX_OUTCOMES} outcomes")
    (leaf,) = leaves
    product = graph.mul(graph.power(node, graph.const(Fraction(power))) for node, power in part)
    total = []
    for value, weight in support:
        body = substitute(graph, product, {leaf: value})
        inner = Moments(engine.low, engine.random - leaves)
        inner.outcomes = engine.outcomes
        total.append(graph.mul((weight, inner.expect(body))))
    engine.outcomes //= len(support)
    return graph.add(total)


def substitute(graph: Graph, root: int, values: Mapping[int, int]) -> int:
    """The node with some nodes replaced."""
    new: dict[int, int] = dict(values)
    for node in graph.reachable([root]):
        if node in new:
            continue
        args = tuple(new[a] for a in graph.args[node])
        if args == graph.args[node]:
            new[node] = node
        else:
            new[node] = rebuilt(graph, node, args)
    return new[root]


def rebuilt(graph: Graph, node: int, args: tuple[int, ...]) -> int:
    """The node's operation on other arguments, constants folded."""
    op, data = graph.ops[node], graph.data[node]
    if op == "add":
        return graph.add(args)
    if op == "mul":
        return graph.mul(args)
    if op == "inv":
        return graph.inv(args[0])
    if op == "powi":
        return graph.power(args[0], graph.const(Fraction(data)))
    if op == "pow":
        return graph.power(*args)
    if op == "indicator":
        from attention_core.derivation.graph.numbers import COMPARE

        known = [graph.value(a) for a in args]
        if known[0] is not None and known[1] is not None:
            gap = known[0] - known[1]
            return graph.one if COMPARE[data](int(gap > 0) - int(gap < 0)) else graph.zero
    if op in ("max", "min"):
        values = [graph.value(a) for a in args]
        if all(v is not None for v in values):
            pick = max if op == "max" else min
            return graph.const(pick(v for v in values if v is not None))
    if op in ("mean", "limit"):
        raise NotPolynomial("an average of a limit has no closed form here")
    return graph.call(op, *args, data=data)


# -- one function that is averaged alone -------------------------------------------------------------------------------


def lone_function(engine: Moments, node: int, power: int, groups: list[Group]) -> int | None:
    """E of one function alone: a probability, |x|, max and min of normal numbers, a geometric number cut off."""
    graph = engine.graph
    op, args = graph.ops[node], graph.args[node]
    laws = {engine.drawn[g].law.name for g in groups}
    if op == "indicator":
        return probability(engine, node, laws)
    if op == "abs" and power % 2 == 0:
        return engine.expect(graph.power(args[0], graph.const(Fraction(power))))
    if power == 1 and laws == {"normal"} and op == "abs":
        return magnitude(engine, args[0])
    if power == 1 and laws == {"normal"} and op in ("max", "min") and len(args) == 2:
        distance = magnitude(engine, graph.sub(*args))
        if distance is None:
            return None
        sum_ = engine.expect(graph.add(args))
        signed = distance if op == "max" else graph.neg(distance)
        return graph.mul((graph.const(Fraction(1, 2)), graph.add((sum_, signed))))
    if laws == {"geometric"} and len(groups) == 1 and op == "min" and len(args) == 2:
        return cut_geometric(engine, node, power, groups[0])
    return None


def _mean_and_variance(engine: Moments, node: int) -> tuple[int, int] | None:
    found = engine.affine(node)
    if found is None:
        return None
    slopes, constant = found
    graph, normal = engine.graph, NormalMoments(engine)
    mean = graph.add((constant, *(graph.mul((c, normal.mean(n))) for n, c in slopes.items())))
    variance = graph.add(
        graph.mul((a, b, normal.covariance(x, y))) for x, a in slopes.items() for y, b in slopes.items()
    )
    return mean, variance


def probability(engine: Moments, node: int, laws: set[str]) -> int | None:
    """P(left op right) of normal numbers that enter linearly, of |x| <= r, and of one uniform number."""
    graph, op = engine.graph, engine.graph.data[node]
    left, right = graph.args[node]
    if op in (">", ">="):
        left, right, op = right, left, "<"
    if laws == {"normal"}:
        if op in ("=", "!="):
            found = _mean_and_variance(engine, graph.sub(left, right))
            return None if found is None else (graph.zero if op == "=" else graph.one)
        if graph.ops[left] == "abs" and not engine.leaves_below(right):
            return _within(engine, graph.args[left][0], right)
        if graph.ops[right] == "abs" and not engine.leaves_below(left):
            inside = _within(engine, graph.args[right][0], left)
            return None if inside is None else graph.sub(graph.one, inside)
        found = _mean_and_variance(engine, graph.sub(left, right))
        return None if found is None else _below(graph, graph.zero, *found)
    if laws == {"uniform"}:
        return _uniform_below(engine, graph.sub(left, right), op)
    return None


def _below(graph: Graph, edge: int, mean: int, variance: int) -> int:
    """P(X <= edge) of a normal X."""
    two = graph.const(Fraction(2))
    ratio = graph.mul((graph.sub(mean, edge), graph.inv(graph.call("sqrt", graph.mul((two, variance))))))
    return graph.mul((graph.const(Fraction(1, 2)), graph.call("erfc", ratio)))


def _within(engine: Moments, inner: int, radius: int) -> int | None:
    found = _mean_and_variance(engine, inner)
    if found is None:
        return None
    graph = engine.graph
    gap = graph.sub(_below(graph, radius, *found), _below(graph, graph.neg(radius), *found))
    return graph.mul((graph.node("indicator", (radius, graph.zero), ">="), gap))


def _uniform_below(engine: Moments, difference: int, op: str) -> int | None:
    """P(c U + d < 0) of one uniform number with a numeral c."""
    graph, found = engine.graph, engine.affine(difference)
    if found is None or len(found[0]) != 1 or op in ("=", "!="):
        return None
    ((leaf, slope),), constant = found[0].items(), found[1]
    known = graph.value(slope)
    if known is None or known == 0:
        return None
    drawn = engine.drawn[engine.group(leaf)]
    a, b = drawn.number(0), drawn.number(1)
    edge = graph.mul((graph.const(-1 / known), constant))
    share = graph.div(graph.sub(edge, a), graph.sub(b, a))
    cut = graph.call("max", graph.call("min", share, graph.one), graph.zero)
    return cut if known > 0 else graph.sub(graph.one, cut)


def magnitude(engine: Moments, inner: int) -> int | None:
    r"""E|X| = s sqrt(2 / pi) e^{-m^2 / (2 s^2)} + m erf(m / (s sqrt 2))."""
    found = _mean_and_variance(engine, inner)
    if found is None:
        return None
    graph, (mean, variance) = engine.graph, found
    two = graph.const(Fraction(2))
    twice = graph.mul((two, variance))
    bell = graph.call("exp", graph.neg(graph.div(graph.mul((mean, mean)), twice)))
    front = graph.call("sqrt", graph.div(twice, graph.node("pi")))
    ratio = graph.div(mean, graph.call("sqrt", twice))
    return graph.add((graph.mul((front, bell)), graph.mul((mean, graph.call("erf", ratio)))))


def cut_geometric(engine: Moments, node: int, power: int, group: Group) -> int | None:
    """E[min(L, c)^power] = sum_{k < c} k^power P(L = k) + c^power P(L >= c) with a whole c."""
    graph = engine.graph
    args = graph.args[node]
    leaf = next((a for a in args if a in engine.random), None)
    cut = next((graph.value(a) for a in args if a != leaf), None)
    if leaf is None or cut is None or cut.q != 1 or not 1 <= cut <= MAX_OUTCOMES:
        return None
    p = engine.drawn[group].number(0)
    q = graph.sub(graph.one, p)
    last = int(cut.p)
    parts = []
    for k in range(1, last):
        weight = graph.mul((p, graph.power(q, graph.const(Fraction(k - 1)))))
        parts.append(graph.mul((graph.const(Fraction(k**power)), weight)))
    parts.append(graph.mul((graph.const(Fraction(last**power)), graph.power(q, graph.const(Fraction(last - 1))))))
    return graph.add(parts)
