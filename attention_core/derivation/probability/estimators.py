"""Unbiased samples of a difference of averages.

The difference of two averages as a polynomial in means, its samples with their rounding errors, and what is proved of
them: the range where they are bounded, and bounds of the variance from exact second moments, ranges, or norms by
Minkowski and Hoelder. Without one of these a random claim stays undecided; no bound is estimated from samples.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from attention_core.derivation.graph.bounds import INF, Interval, bounds, enclosing, times
from attention_core.derivation.graph.nodes import Graph, TooLarge, Undefined, Unsettled
from attention_core.derivation.graph.numbers import Case, Imprecise, ball, evaluate, precision
from attention_core.derivation.lowering.lower import Lowering
from attention_core.derivation.probability.closed_forms import moments_of
from attention_core.derivation.probability.moments import Moments, Monomial
from attention_core.derivation.probability.operations import Mean, MeanLaw
from attention_core.derivation.probability.sampling import draws, evaluate_samples, number

SLACK = 1 + 1e-9
MOST_ORDER = 16


class Spread:
    """Bounds at one case; `values` are the values of the leaves that are not random."""

    def __init__(self, low: Lowering, values: Mapping[int, Any]) -> None:
        self.low, self.graph, self.values = low, low.graph, values
        self.ranges: dict[int, Interval] = {n: enclosing(v() if callable(v) else v) for n, v in values.items()}
        self.known: dict[tuple[int, int], float] = {}

    def range(self, mean: Mean, node: int) -> Interval:
        """An interval that holds every sample of a node."""
        ranges = dict(self.ranges)
        for leaf, law in zip(mean.random, mean.laws, strict=True):
            ranges[leaf] = self.support(law.name, law.parameters)
        return bounds(self.graph, [node], ranges)[0]

    def support(self, law: str, parameters: tuple[int, ...]) -> Interval:
        """Where the draws of a law lie."""
        if law == "bernoulli":
            return 0.0, 1.0
        if law == "categorical":
            return 1.0, float(len(parameters))
        if law in ("uniform", "range"):
            low, high = bounds(self.graph, list(parameters), self.ranges)
            return low[0], high[1]
        if law == "rademacher":
            return -1.0, 1.0
        if law in ("exponential", "poisson", "binomial"):
            return 0.0, INF
        return (1.0, INF) if law == "geometric" else (-INF, INF)

    def upper(self, node: int) -> float | None:
        """An upper bound of a node without anything random."""
        try:
            with precision(256):
                (found,) = evaluate(self.graph, [node], self.values)
                top = float(ball(found).upper())
        except (Imprecise, Undefined, TooLarge, Unsettled):
            return None
        return top * SLACK if math.isfinite(top) and top >= 0 else (0.0 if top < 0 else None)

    def exact(self, mean: Mean, node: int) -> float | None:
        """E[node] bounded above through its closed form, None without one."""
        try:
            return self.upper(moments_of(self.low, set(mean.random)).expect(node))
        except (Unsettled, TooLarge, Undefined):
            return None

    def variance(self, mean: Mean) -> float | None:
        """A bound of Var[body]: exact, from the range, or from the second moment."""
        graph, body = self.graph, mean.body
        try:
            engine = moments_of(self.low, set(mean.random))
            first, second = engine.expect(body), engine.expect(graph.mul((body, body)))
            found = self.upper(graph.sub(second, graph.mul((first, first))))
            if found is not None:
                return found
        except (Unsettled, TooLarge, Undefined):
            pass
        low, high = self.range(mean, body)
        candidates = [(high - low) ** 2 / 4 * SLACK] if math.isfinite(low) and math.isfinite(high) else []
        norm = self.norm(mean, body, 2)
        if norm is not None:
            candidates.append(norm * norm * SLACK)
        return min(candidates, default=None)

    def norm(self, mean: Mean, node: int, p: int) -> float | None:
        """A bound of E[|node|^p]^(1/p), p even."""
        key = node, p
        if key not in self.known:
            self.known[key] = math.nan
            found = self._norm(mean, node, p)
            self.known[key] = math.nan if found is None else found
        value = self.known[key]
        return None if math.isnan(value) else value

    def _norm(self, mean: Mean, node: int, p: int) -> float | None:
        if p > MOST_ORDER:
            return None
        low, high = self.range(mean, node)
        if math.isfinite(low) and math.isfinite(high):
            return max(abs(low), abs(high))
        graph = self.graph
        op, args = graph.ops[node], graph.args[node]
        if op in ("leaf", "add", "mul", "powi", "exp"):
            found = self.exact(mean, graph.power(node, graph.const(_fraction(p))))
            if found is not None:
                return float(found ** (1 / p) * SLACK)
        if op in ("add", "max", "min"):
            return self._sum([self.norm(mean, a, p) for a in args])
        if op == "abs":
            return self.norm(mean, args[0], p)
        if op == "powi" and graph.data[node] > 0:
            inner = self.norm(mean, args[0], p * graph.data[node])
            return None if inner is None else inner ** graph.data[node] * SLACK
        if op == "mul":
            return self._product(mean, args, p)
        if op == "log":
            return self._log_of_sum(mean, args[0], p)
        if op == "sqrt":
            inner = self.norm(mean, args[0], p)
            return None if inner is None else math.sqrt(inner) * SLACK
        return None

    def _log_of_sum(self, mean: Mean, total: int, p: int) -> float | None:
        """|log sum_i e^{x_i}| <= log n + sum_i |x_i|; a constant c counts as e^{log c}."""
        graph = self.graph
        parts = graph.args[total] if graph.ops[total] == "add" else (total,)
        bound = math.log(len(parts))
        for part in parts:
            found: float | None = None
            if graph.ops[part] == "exp":
                found = self.norm(mean, graph.args[part][0], p)
            elif (known := graph.value(part)) is not None and known > 0:
                low, high = enclosing(known)
                found = max(abs(math.log(low)), abs(math.log(high)))
            if found is None:
                return None
            bound += found
        return bound * SLACK

    def _sum(self, norms: list[float | None]) -> float | None:
        """Minkowski."""
        return None if any(n is None for n in norms) else sum(n for n in norms if n is not None) * SLACK

    def _product(self, mean: Mean, args: tuple[int, ...], p: int) -> float | None:
        """Hoelder, after what is bounded has been taken out."""
        scale, rest = 1.0, []
        for a in args:
            low, high = self.range(mean, a)
            if math.isfinite(low) and math.isfinite(high):
                scale *= max(abs(low), abs(high))
            else:
                rest.append(a)
        order = p * len(rest)
        for a in rest:
            found = self.norm(mean, a, order + order % 2)
            if found is None:
                return None
            scale *= found
        return scale * SLACK


def _fraction(p: int) -> Any:
    from fractions import Fraction

    return Fraction(p)


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
