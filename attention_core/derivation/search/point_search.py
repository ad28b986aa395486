"""Points scored in float64 and certified exactly.

Points at one tuple are scored in float64 by how far they are from holding; the most promising are compared exactly,
with simple numbers near them first. Only an exact comparison refutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from flint import fmpq

from attention_core.derivation.cases.admissible import NoCase
from attention_core.derivation.cases.counterexamples import refutation
from attention_core.derivation.cases.generate import Completion, completion
from attention_core.derivation.graph.compare import compare
from attention_core.derivation.graph.nodes import TooLarge, Undefined
from attention_core.derivation.graph.numbers import Column, Imprecise, columns, is_supported

if TYPE_CHECKING:
    import numpy as np

    from attention_core.derivation.cases.problem import Problem, Site
    from attention_core.derivation.records import Finding

CERTIFIED = 6  # exact comparisons at one tuple
SURELY = 1e-9  # what float64 calls a violation, relatively; below it the exact comparison decides
Points = Any  # a matrix: a row for each free entry, a column for each point


@dataclass
class Search:
    """One tuple: how cases are completed, the order of evaluation, and what was seen."""

    problem: Problem
    site: Site
    made: Completion
    rng: np.random.Generator
    tried: int = 0

    def scores(self, points: Points) -> Column:
        """How far each point is from holding: above 0 where it fails, minus infinity where it is not a case."""
        import numpy as np

        op = self.problem.claim.op
        values: dict[int, Column] = {n: points[k].copy() for k, n in enumerate(self.made.free)}
        good = self.made.fill(values)
        found = columns(self.site.low.graph, self.site.order, values)
        worst: Any = np.full(points.shape[1], -np.inf)
        with np.errstate(all="ignore"):
            for a, b in self.site.pairs:
                left, right = (found[a], found[b]) if op not in (">", ">=") else (found[b], found[a])
                size = np.maximum(np.maximum(np.abs(left), np.abs(right)), 1e-300)
                gap = np.where(left == right, 0.0, (left - right) / size)
                worst = np.maximum(worst, {"=": np.abs(gap), "!=": -np.abs(gap)}.get(op, gap))
        return np.where(good & np.isfinite(worst), worst, -np.inf)

    def certify(self, points: Points, scores: Column) -> Finding | None:
        """Compare the most promising points exactly, each with simple numbers near it first."""
        import numpy as np

        op = self.problem.claim.op
        least = {"!=": -1e-12, "<": 0.0, ">": 0.0}.get(op, SURELY if op == "=" else 1e-15)
        for place in np.argsort(-scores)[:3]:
            if scores[place] < least or self.tried >= CERTIFIED:
                break
            self.tried += 1
            for values in self.simple(points[:, place]):
                if found := self.compare_case(values):
                    return found
        return None

    def simple(self, point: Column) -> Iterator[dict[int, fmpq]]:
        """The point with its numbers rounded where it fails all the same, and as it is."""
        import numpy as np

        exact = [Fraction(float(v)) for v in point]
        for most in (1, 12, 1000):
            rounded = [v.limit_denominator(most) for v in exact]
            values = dict(zip(self.made.free, (fmpq(v.numerator, v.denominator) for v in rounded), strict=True))
            column = np.array([[float(v)] for v in rounded])
            if self.scores(column)[0] >= -1e-12:
                yield values
        yield dict(zip(self.made.free, (fmpq(v.numerator, v.denominator) for v in exact), strict=True))

    def compare_case(self, free: dict[int, fmpq]) -> Finding | None:
        """The finding if the exact case refutes."""
        try:
            case = self.made.case(free)
            outcome = compare(
                self.site.low.graph, self.site.pairs, self.problem.claim.op, case, self.site.order, most=512
            )
        except (NoCase, Undefined, Imprecise, TooLarge, ZeroDivisionError):
            return None
        if outcome.holds is False:
            return refutation(self.problem, self.site, case, outcome)
        if outcome.holds and self.problem.is_scarce:
            self.problem.tally.add(outcome)
            if self.site.env not in self.problem.tally.tuples:
                self.problem.tally.tuples.append(self.site.env)
        return None


def search_of(problem: Problem, site: Site) -> Search | None:
    """The search at one tuple, None where cases cannot be completed or an operation has no form in float64."""
    import numpy as np

    graph = site.low.graph
    made = completion(site.plan) if site.plan.entries else None
    if made is None or not any(graph.ops[n] == "leaf" for n in site.order):
        return None
    orders = [site.order, *(c.order for c in site.plan.constraints)]
    orders += [tuple(graph.reachable([s])) for s in site.plan.assigned.values()]
    if not all(is_supported(graph, order) for order in orders):
        return None
    return Search(problem, site, made, np.random.default_rng(problem.effort.seed))
