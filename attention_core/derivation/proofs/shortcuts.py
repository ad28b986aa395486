"""Proofs that a search asks for: at one case, at one tuple of sizes, at all sizes.

Balls that overlap never show that two sides are equal; normal forms do, and rules for all sizes make cases needless.
"""

from __future__ import annotations

from collections.abc import Callable

from flint import fmpq

from attention_core.derivation.algebra.frames import Surd
from attention_core.derivation.algebra.normal import Facts, is_nonnegative, is_zero
from attention_core.derivation.cases.problem import Problem, Site
from attention_core.derivation.graph.compare import compare
from attention_core.derivation.graph.numbers import Case
from attention_core.derivation.proofs.all_sizes import holds_at_all_sizes, ordered_at_all_sizes


def is_proved_everywhere(problem: Problem) -> bool:
    """Whether the equation is proved for all sizes."""
    return _settle_once(problem, "equal", holds_at_all_sizes)


def is_ordered_everywhere(problem: Problem) -> bool:
    """Whether the inequality is proved for all sizes."""
    return _settle_once(problem, "ordered", ordered_at_all_sizes)


def _settle_once(problem: Problem, name: str, proof: Callable[..., bool]) -> bool:
    """The outcome of a proof at all sizes, which is looked for once."""
    if name not in problem.settled:
        about = problem.context, problem.claim, problem.hypotheses, problem.tuples
        problem.settled[name] = proof(*about, problem.effort.seconds)
    return problem.settled[name]


def identical(site: Site, deadline: float, op: str = "=") -> bool:
    """Whether the claim holds at one site by its form, wherever both sides are defined.

    For `=` the difference reduces to 0; for an inequality it reduces to something that cannot be negative.
    """
    graph = site.low.graph
    if site.identical is None:
        differences = [graph.sub(a, b) for a, b in site.pairs]
        given = site.plan.collect_facts()
        site.identical = is_zero(graph, differences, given, deadline)
        if not site.identical and op in ("<=", ">="):
            signed = [graph.neg(d) for d in differences] if op == "<=" else differences
            site.identical = all(is_nonnegative(graph, d, given, deadline) for d in signed)
    return site.identical


def equal_here(site: Site, case: Case, op: str, deadline: float) -> bool:
    """Whether the sides are exactly equal at one case, or ordered as they should be where they are not."""
    graph = site.low.graph
    values = {n: v for n, v in case.items() if graph.ops[n] == "leaf"}
    if not all(isinstance(v, fmpq | Surd) for v in values.values()):
        return False
    given = Facts(values=values)
    for left, right in site.pairs:
        order = graph.reachable([left, right])
        outcome = compare(graph, [(left, right)], op, case, order, most=512)
        if outcome.holds is False:
            return False
        if outcome.holds is None and not is_zero(graph, [graph.sub(left, right)], given, deadline):
            return False
    return True
