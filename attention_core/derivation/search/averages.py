r"""Averages at large sizes.

An average such as $\mathbb{E} (q^\top k)^4$ costs a power of its size, so that the ladder of sizes leaves averages out.
What has nothing else to draw is compared at sizes up to 64. Where both sides are polynomials in the one size, of a
degree that their terms bound, their values at the first sizes determine them at all: then they are compared at the
roots of their difference and far beyond.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from flint import fmpq, fmpq_poly, fmpz_poly

from attention_core.derivation.cases.counterexamples import refutation
from attention_core.derivation.graph.compare import compare, format_value
from attention_core.derivation.graph.nodes import Graph, TooLarge, Undefined, Unsettled
from attention_core.derivation.graph.numbers import Imprecise, evaluate, precision
from attention_core.derivation.proofs.size_degree import polynomial_degree
from attention_core.derivation.records import Counterexample, Evidence, Finding, Verdict

if TYPE_CHECKING:
    from attention_core.derivation.cases.problem import Problem, Site

NODES = 60_000  # of one tuple
SIZES = (6, 8, 11, 13, 16, 24, 33, 64)
MOST_DEGREE = 24
BEYOND = tuple(10**k for k in range(1, 16))
SHARE = 0.1  # of a step's time
HOLDS = {
    "=": lambda d: d == 0, "!=": lambda d: d != 0, "<": lambda d: d < 0, "<=": lambda d: d <= 0,
    ">": lambda d: d > 0, ">=": lambda d: d >= 0,
}  # fmt: skip


def search_averages(problem: Problem) -> Finding | None:
    """Compare averages at larger sizes than others can be; the finding if they refute.

    Args:
        problem: A claim whose small sizes agree.
    """
    claim, sizes = problem.claim, problem.tuples.sizes
    averaged = any(t.op == "expect" for side in (claim.left, claim.right) for t in side.walk())
    if not averaged or problem.moves or claim.op not in HOLDS or not sizes:
        return None
    end = min(problem.deadline, time.process_time() + SHARE * problem.effort.seconds)
    if len(sizes) == 1 and not problem.tuples.indices:
        found, conclusive = _extrapolate(problem, end)
        if conclusive:
            return found
    for size in SIZES:
        env = {**dict.fromkeys(problem.tuples.indices, 1), **dict.fromkeys(sizes, size)}
        site = _site(problem, env) if time.process_time() < end else None
        if site is None:
            continue
        try:
            outcome = compare(site.low.graph, site.pairs, claim.op, {}, site.order, most=512)
        except (Undefined, Imprecise, TooLarge):
            continue
        if outcome.holds is False:
            problem.tally.far = True
            return refutation(problem, site, {}, outcome)
        if outcome.holds:
            problem.tally.reached = {n: max(problem.tally.reached.get(n, 0), size) for n in sizes}
    return None


def _site(problem: Problem, env: dict[str, int]) -> Site | None:
    """The claim at some sizes, None where they are not allowed or there is anything to draw."""
    try:
        site = problem.make_site(env, Graph(NODES)) if problem.tuples.feasible(env) else None
    except (TooLarge, Unsettled):
        return None
    return site if site is not None and not site.plan.entries else None


def _extrapolate(problem: Problem, end: float) -> tuple[Finding | None, bool]:
    """Compare the polynomials in the one size that both sides are; also whether they were."""
    (name,) = problem.tuples.sizes
    degree = polynomial_degree(problem.context, problem.claim)
    if degree is None or degree > MOST_DEGREE:
        return None, False
    lowest = problem.tuples.lowest(name)
    points = []
    for size in range(lowest, lowest + degree + 2):  # one more than are needed
        values = _values(problem, {name: size}) if time.process_time() < end else None
        if values is None:
            return None, False
        points.append((fmpq(size), *values))
    left, right = (_interpolate([(p[0], p[k]) for p in points]) for k in (1, 2))
    if max(left.degree(), right.degree()) > degree:
        return None, False
    difference = left - right
    for size in sorted({*_near_roots(difference), *BEYOND}):
        if size >= lowest and problem.tuples.feasible({name: size}) and not HOLDS[problem.claim.op](difference(size)):
            return _finding(problem, name, size, degree, left(size), right(size)), True
    problem.tally.notes.append(
        f"so do both sides as polynomials in {name} of degree {degree} at most, around the roots of their difference "
        f"and up to {name} = 10^{len(BEYOND)}"
    )
    return None, True


def _values(problem: Problem, env: dict[str, int]) -> tuple[fmpq, fmpq] | None:
    """Both sides as rational numbers."""
    site = _site(problem, env)
    if site is None or len(site.pairs) != 1:
        return None
    try:
        with precision(128):
            left, right = evaluate(site.low.graph, list(site.pairs[0]), {}, site.order)
    except (Undefined, Imprecise, TooLarge):
        return None
    return (left, right) if isinstance(left, fmpq) and isinstance(right, fmpq) else None


def _interpolate(points: list[tuple[fmpq, fmpq]]) -> fmpq_poly:
    """The polynomial through some points, by Newton's divided differences."""
    table = [y for _, y in points]
    for k in range(1, len(points)):
        for i in range(len(points) - 1, k - 1, -1):
            table[i] = (table[i] - table[i - 1]) / (points[i][0] - points[i - k][0])
    out = fmpq_poly([table[-1]])
    for (x, _), c in zip(reversed(points[:-1]), reversed(table[:-1]), strict=True):
        out = out * fmpq_poly([-x, fmpq(1)]) + c
    return out


def _near_roots(poly: fmpq_poly) -> set[int]:
    """The whole numbers next to the real roots of a polynomial."""
    if poly.degree() < 1:
        return set()
    roots = [root.real for root, _ in fmpz_poly(list(poly.numer())).complex_roots() if root.imag.contains(0)]
    return {int(float(r.mid())) + k for r in roots if abs(float(r.mid())) < 1e15 for k in (-1, 0, 1, 2)}


def _finding(problem: Problem, name: str, size: int, degree: int, left: fmpq, right: fmpq) -> Finding:
    sides = format_value(left), format_value(right)
    text = (
        f"{sides[0]} {_NOT[problem.claim.op]} {sides[1]} at {name} = {size}: both sides are polynomials in {name} of "
        f"degree {degree} at most, and their first {degree + 1} values determine them"
    )
    problem.tally.far = True
    example = Counterexample({name: str(size)}, *sides)
    return Finding(Verdict.REFUTED, Evidence(text, {"cases": problem.tally.cases + 1}), example)


_NOT = {"=": "is not", "!=": "is", "<": "is not below", "<=": "is above", ">": "is not above", ">=": "is below"}
