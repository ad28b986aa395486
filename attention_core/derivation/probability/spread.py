"""Variance bounds of what is averaged.

Proved bounds of how far samples scatter: exact second moments, ranges, or norms by Minkowski and Hoelder.
Without one of these a random claim stays undecided; nothing here is estimated from samples.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attention_core.derivation.graph.bounds import INF, Interval, bounds, enclosing
from attention_core.derivation.graph.nodes import TooLarge, Undefined, Unsettled
from attention_core.derivation.graph.numbers import Imprecise, ball, evaluate, precision
from attention_core.derivation.probability.moments import Mean, Moments

if TYPE_CHECKING:
    from attention_core.derivation.lowering.lower import Lowering

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
            return self.upper(Moments(self.low, set(mean.random)).expect(node))
        except (Unsettled, TooLarge, Undefined):
            return None

    def variance(self, mean: Mean) -> float | None:
        """A bound of Var[body]: exact, from the range, or from the second moment."""
        graph, body = self.graph, mean.body
        try:
            engine = Moments(self.low, set(mean.random))
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
