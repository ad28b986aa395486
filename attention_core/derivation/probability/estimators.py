"""Unbiased samples of a difference of averages.

The difference of two averages as a polynomial in means, its samples with their rounding errors, and what is proved of
them: a bound of the variance, and the range where they are bounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from attention_core.derivation.graph.bounds import Interval, times
from attention_core.derivation.graph.nodes import Graph, Unsettled
from attention_core.derivation.graph.numbers import Case, evaluate, precision
from attention_core.derivation.lowering.lower import Lowering
from attention_core.derivation.probability.moments import Mean, MeanLaw, Moments, Monomial
from attention_core.derivation.probability.sampling import draws, evaluate_samples, number
from attention_core.derivation.probability.spread import Spread

NO_BOUND = (
    "no bound of the variance is proved for what is averaged, so that samples could not tell how sure they are: "
    "bound it, or average something bounded"
)


@dataclass(frozen=True)
class Estimator:
    """An unbiased sample of left - right: a polynomial in means, each factor of a product from draws of its own."""

    table: dict[Monomial, int]
    means: tuple[int, ...]

    @property
    def copies(self) -> int:
        """How many independent draws of everything one sample needs."""
        return max((sum(k for _, k in m) for m in self.table), default=0)


class _InMeans(Moments):
    """Polynomials in `mean` nodes."""

    def __init__(self, graph: Graph, means: set[int]) -> None:
        self.graph, self.random = graph, means
        self.expanded = {}


def estimator(graph: Graph, difference: int) -> Estimator:
    """The difference as a polynomial in its means; raises `Unsettled` where it is none."""
    means = {n for n in graph.reachable([difference]) if graph.ops[n] == "mean"}
    table = _InMeans(graph, means).expand(difference)
    if any(node not in means for monomial in table for node, _ in monomial):
        raise Unsettled(
            "a root, a quotient or another function of averages has no unbiased samples: "
            "state the step for averages and variances themselves"
        )
    drawn = {leaf for node in means for leaf in graph.data[node].random}
    if drawn & set(graph.leaves([*table.values()])):
        raise Unsettled("a random symbol stands inside an average and outside as well")
    return Estimator(table, tuple(sorted(means)))


class Trial:
    """One claim `E[D] = 0` or `E[D] <= 0` at one case."""

    def __init__(self, low: Lowering, made: Estimator, sign: int, case: Case, rng: Any) -> None:
        self.low, self.graph, self.made, self.sign, self.rng = low, low.graph, made, sign, rng
        self.values = {n: v for n, v in case.items() if self.graph.ops[n] == "leaf"}
        self.spread = Spread(low, self.values)
        with precision(128):
            found = evaluate(self.graph, list(made.table.values()), self.values)
        self.coefficients = [number(v) for v in found]

    # -- draws ------------------------------------------------------------------------------------------------------

    def draw(self, count: int) -> tuple[Any, Any]:
        """Samples of D with their errors."""
        copies = [self.copy(count) for _ in range(self.made.copies)]
        total: Any = (0.0, 0.0)
        for monomial, coefficient in zip(self.made.table, self.coefficients, strict=True):
            product, place = coefficient, 0
            for node, power in monomial:
                for _ in range(power):
                    value, error = copies[place][node]
                    scaled = product[0] * value
                    product = (
                        scaled,
                        (abs(product[0]) * error + abs(value) * product[1] + error * product[1] + 3e-16 * abs(scaled)),
                    )
                    place += 1
            total = total[0] + product[0], total[1] + product[1] + 3e-16 * (abs(total[0]) + abs(product[0]))
        return self.sign * total[0], total[1]

    def copy(self, count: int) -> dict[int, Any]:
        """One independent draw of everything random, and all means' bodies there."""
        leaves: dict[int, Any] = {n: number(v() if callable(v) else v) for n, v in self.values.items()}
        for node in self.made.means:
            mean: Mean = self.graph.data[node]
            for leaf, law in zip(mean.random, mean.laws, strict=True):
                if leaf not in leaves:
                    with precision(128):
                        found = evaluate(self.graph, list(law.parameters), self.values)
                    leaves[leaf] = draws(law.name, [number(v) for v in found], count, self.rng)
        bodies = [self.graph.data[n].body for n in self.made.means]
        return dict(zip(self.made.means, evaluate_samples(self.graph, bodies, leaves), strict=True))

    # -- bounds -----------------------------------------------------------------------------------------------------

    def variance(self) -> float:
        """A proved bound of Var[D]; raises `Unsettled` without one."""
        sizes = [abs(v) + e for v, e in self.coefficients]
        if self.made.copies <= 1:
            found = self.spread.variance(self.merge_means())
            if found is None:
                raise Unsettled(NO_BOUND)
            return found
        total = 0.0
        for monomial, size in zip(self.made.table, sizes, strict=True):
            if not monomial:
                continue
            for node, power in monomial:
                mean: Mean = self.graph.data[node]
                norm = self.spread.norm(mean, mean.body, 2)
                if norm is None:
                    raise Unsettled(NO_BOUND)
                size *= norm**power
            total += size
        return total * total * (1 + 1e-9)

    def merge_means(self) -> Mean:
        """The one thing that is averaged, where everything is linear in means."""
        graph = self.graph
        parts: list[int] = []
        laws: dict[int, MeanLaw] = {}
        for monomial, coefficient in self.made.table.items():
            body = graph.data[monomial[0][0]].body if monomial else graph.one
            parts.append(graph.mul((coefficient, body)))
            for node, _ in monomial:
                mean: Mean = graph.data[node]
                laws.update(zip(mean.random, mean.laws, strict=True))
        order = tuple(sorted(laws))
        return Mean(graph.add(parts), order, tuple(laws[n] for n in order))

    def limits(self) -> tuple[float, float] | None:
        """The range of D, if it is bounded."""
        total: Interval = (0.0, 0.0)
        for monomial, (value, error) in zip(self.made.table, self.coefficients, strict=True):
            product: Interval = (value - error, value + error)
            for node, power in monomial:
                mean: Mean = self.graph.data[node]
                for _ in range(power):
                    product = times(product, self.spread.range(mean, mean.body))
            total = total[0] + product[0], total[1] + product[1]
        if not all(math.isfinite(x) for x in total):
            return None
        slack = 1e-9 * (abs(total[0]) + abs(total[1]))
        low, high = total[0] - slack, total[1] + slack
        return (low, high) if self.sign > 0 else (-high, -low)
