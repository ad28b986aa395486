"""Evaluation modulo a prime at sizes too large for normal forms.

Large sizes: both sides of a rational equation modulo a prime, at random points (Schwartz and Zippel).
A difference there is a difference; agreement is evidence with a stated probability, never EXACT.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attention_core.derivation.graph.nodes import Graph, TooLarge

if TYPE_CHECKING:
    from attention_core.derivation.cases.problem import Problem, Site

PRIME = 2**61 - 1
RATIONAL = frozenset({"const", "leaf", "add", "mul", "inv", "powi"})
SIZE = 9  # the size that every size is given, more where its smallest value is 9 or above
POINTS = 3
GRID = 4  # sizes above the smallest, where that is large


@dataclass(frozen=True)
class Large:
    """What was seen at one tuple of large sizes; `missed` bounds the probability that a false equation passes."""

    sizes: dict[str, int]
    missed: float
    site: Site
    differs: bool = False


def at_large_size(problem: Problem) -> Large | None:
    """Compare both sides modulo a prime; None where the method does not apply.

    It applies to equations of rational functions whose entries are free: no hypothesis restricts them. A numerator or
    denominator of degree D that is not 0 vanishes at a random point of the field with probability at most D / p.

    Source: Schwartz, "Fast probabilistic algorithms for verification of polynomial identities" (1980); Zippel (1979).
    """
    env = _large(problem)
    if problem.claim.op != "=" or env is None:
        return None
    try:
        site = problem.site(env)
    except TooLarge:
        return None
    if site is None or _is_restricted(site):
        return None
    graph, sizes = site.low.graph, {n: env[n] for n in problem.tuples.sizes}
    if not all(graph.ops[n] in RATIONAL and not _has_listed_values(site, n) for n in site.order):
        return None
    rng = random.Random(problem.effort.seed)
    for _ in range(POINTS):
        values = residues(graph, site.order, rng)
        if values is None:
            return None
        if any(values[a] != values[b] for a, b in site.pairs):
            return Large(sizes, 0.0, site, differs=True)
    degree = max(degrees(graph, site.order).values(), default=0)
    return Large(sizes, min(1.0, (2 * degree / PRIME) ** POINTS), site)


def _large(problem: Problem) -> dict[str, int] | None:
    lowest = {n: problem.tuples.lowest(n) for n in problem.tuples.sizes}
    sizes = {n: SIZE if low < SIZE else low + GRID for n, low in lowest.items()}
    return next(iter(problem.tuples.with_indices(sizes, limit=1)), None) if sizes else None


def _is_restricted(site: Site) -> bool:
    """Whether a hypothesis speaks about an entry of the claim."""
    claimed = {n for n in site.order if site.low.graph.ops[n] == "leaf"}
    constraints = (*site.plan.constraints, *site.plan.checks)
    return any(c.leaves & claimed for c in constraints) or bool(site.plan.gram.leaves() & claimed)


def _has_listed_values(site: Site, node: int) -> bool:
    """Whether a node is a leaf with listed values only; an interval is not a restriction here."""
    return site.low.graph.ops[node] == "leaf" and bool(site.plan.entries[node][0].values)


def residues(graph: Graph, order: list[int], rng: random.Random) -> dict[int, int] | None:
    """The values of the nodes at a random point of the field; None where an inverse does not exist there."""
    values: dict[int, int] = {}
    for node in order:
        op, args, data = graph.ops[node], graph.args[node], graph.data[node]
        if op == "const":
            values[node] = int(data.p) * pow(int(data.q), -1, PRIME) % PRIME
        elif op == "leaf":
            values[node] = rng.randrange(PRIME)
        elif op == "add":
            values[node] = sum(values[a] for a in args) % PRIME
        elif op == "mul":
            product = 1
            for a in args:
                product = product * values[a] % PRIME
            values[node] = product
        else:
            base, power = values[args[0]], -1 if op == "inv" else data
            if base == 0 and power < 0:
                return None
            values[node] = pow(base, power, PRIME)
    return values


def degrees(graph: Graph, order: list[int]) -> dict[int, int]:
    """A bound on the degrees of numerator and denominator of each node."""
    found: dict[int, int] = {}
    fractions: set[int] = set()  # nodes with a division below
    for node in order:
        op, args = graph.ops[node], graph.args[node]
        if op == "inv" or (op == "powi" and graph.data[node] < 0) or any(a in fractions for a in args):
            fractions.add(node)
        if op == "const":
            found[node] = 0
        elif op == "leaf":
            found[node] = 1
        elif op == "powi":
            found[node] = found[args[0]] * abs(graph.data[node])
        elif op == "add" and not any(a in fractions for a in args):
            found[node] = max(found[a] for a in args)
        else:  # a common denominator adds the degrees up
            found[node] = sum(found[a] for a in args)
    return found
