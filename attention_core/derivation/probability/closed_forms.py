"""Expectations of products that cannot be taken apart further.

Closed forms of one factor of an expectation: which one there is, and finite laws by going through their values.
Normal numbers have theirs in `normal_moments`, one function alone in `lone_functions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from attention_core.derivation.graph.nodes import Graph, TooLarge
from attention_core.derivation.probability.distributions import DISCRETE, MAX_OUTCOMES
from attention_core.derivation.probability.lone_functions import lone_function
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
        body = substituted(graph, product, {leaf: value})
        inner = Moments(engine.low, engine.random - leaves)
        inner.outcomes = engine.outcomes
        total.append(graph.mul((weight, inner.expected(body))))
    engine.outcomes //= len(support)
    return graph.add(total)


def substituted(graph: Graph, root: int, values: Mapping[int, int]) -> int:
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
