"""Bounds of nodes over all values of some leaves.

Intervals that hold a node's value whatever the random leaves are: outward rounded, infinite where nothing is known.
A positive term over a sum of positive terms that has it as a part lies in [0, 1]: softmax weights are bounded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from flint import arb, fmpq

from attention_core.derivation.graph.nodes import Graph

Interval = tuple[float, float]
INF = math.inf
ALL: Interval = (-INF, INF)
SLACK = 1e-12  # covers the rounding of one operation, thousands of units in the last place
TINY = 5e-324


def enclosing(value: Any) -> Interval:
    """An exact or enclosed number as an interval of floats."""
    ball = arb(value) if isinstance(value, fmpq) else value
    low, high = float(ball.lower()), float(ball.upper())
    return outward(low, high)


def outward(low: float, high: float, exact_zero: bool = True) -> Interval:
    """Both ends moved outward; an exact 0 stays where it is."""
    if math.isnan(low) or math.isnan(high):
        return ALL
    below = low - abs(low) * SLACK if math.isfinite(low) else low
    above = high + abs(high) * SLACK if math.isfinite(high) else high
    return (below, above) if exact_zero else (below - TINY, above + TINY)


def bounds(graph: Graph, roots: Sequence[int], leaves: Mapping[int, Interval]) -> list[Interval]:
    """An interval for each root; leaves that are not named may be anything."""
    found: dict[int, Interval] = {}
    for node in graph.reachable(roots):
        op, data = graph.ops[node], graph.data[node]
        args = [found[a] for a in graph.args[node]]
        if op == "const":
            found[node] = enclosing(data)
        elif op == "leaf":
            found[node] = leaves.get(node, ALL)
        elif op == "mul":
            found[node] = _product(graph, node, found)
        else:
            rule = RULES.get(op)
            found[node] = rule(args, data) if rule is not None else ALL
    return [found[root] for root in roots]


def times(a: Interval, b: Interval) -> Interval:
    """The product of two intervals."""
    ends = [0.0 if 0.0 in (x, y) else x * y for x in a for y in b]
    low, high = outward(min(ends), max(ends))
    if low == 0 and min(a[0], b[0]) < 0:
        low = -TINY
    if high == 0 and not (a == (0, 0) or b == (0, 0)) and (max(a[1], b[1]) > 0 or min(a[0], b[0]) < 0):
        high = TINY
    return low, high


def _product(graph: Graph, node: int, found: Mapping[int, Interval]) -> Interval:
    """A product; shares of sums are recognised first."""
    rest = list(graph.args[node])
    result: Interval = (1.0, 1.0)
    for factor in graph.args[node]:
        if graph.ops[factor] != "inv":
            continue
        total = graph.args[factor][0]
        parts = graph.args[total] if graph.ops[total] == "add" else ()
        if not parts or any(found[p][0] < 0 for p in parts):
            continue
        part = next((p for p in parts if p in rest), None)
        if part is None and graph.one in parts and found[total][0] >= 1:
            continue
        if part is not None:
            rest.remove(factor)
            rest.remove(part)
            result = times(result, (0.0, 1.0))
    counted: dict[int, int] = {}
    for factor in rest:
        counted[factor] = counted.get(factor, 0) + 1
    for factor, count in counted.items():
        for _ in range(count // 2):
            result = times(result, _even(found[factor]))
        if count % 2:
            result = times(result, found[factor])
    return result


def _even(a: Interval) -> Interval:
    """The square of an interval."""
    ends = sorted((abs(a[0]), abs(a[1])))
    low = 0.0 if a[0] <= 0 <= a[1] else ends[0]
    return times((low, ends[1]), (low, ends[1]))


def _add(args: list[Interval], _: Any) -> Interval:
    low = high = 0.0
    for a in args:
        low, high = outward(low + a[0], high + a[1])
    return low, high


def _inv(args: list[Interval], _: Any) -> Interval:
    low, high = args[0]
    if low >= 0 or high <= 0:
        ends = [math.copysign(INF, low + high) if x == 0 else 1 / x for x in (low, high)]
        return outward(min(ends), max(ends), exact_zero=math.isinf(low) or math.isinf(high))
    return ALL


def _powi(args: list[Interval], whole: int) -> Interval:
    base = _inv(args, None) if whole < 0 else args[0]
    result: Interval = (1.0, 1.0)
    square = _even(base)
    for _ in range(min(abs(whole) // 2, 64)):
        result = times(result, square)
    if abs(whole) // 2 > 64:
        return (0.0, INF) if whole % 2 == 0 else ALL
    return times(result, base) if whole % 2 else result


def _exp(args: list[Interval], _: Any) -> Interval:
    def value(x: float) -> float:
        return INF if x > 700 else math.exp(x)

    low, high = outward(value(args[0][0]), value(args[0][1]))
    return max(0.0, low), high if high > 0 or args[0][1] == -INF else TINY


def _log(args: list[Interval], _: Any) -> Interval:
    low, high = args[0]
    ends = [-INF if x <= 0 else math.log(x) if math.isfinite(x) else INF for x in (low, high)]
    return outward(ends[0] - 1e-15, ends[1] + 1e-15)


def _sqrt(args: list[Interval], _: Any) -> Interval:
    low, high = (math.sqrt(max(x, 0.0)) if math.isfinite(x) else (INF if x > 0 else 0.0) for x in args[0])
    return outward(low, high)


def _abs(args: list[Interval], _: Any) -> Interval:
    low, high = args[0]
    return (0.0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))


def _pow(args: list[Interval], _: Any) -> Interval:
    low, high = args[0]
    if low <= 0:
        return (0.0, INF)
    exponent = times(args[1], _log([(low, high)], None))
    return _exp([exponent], None)


RULES: dict[str, Any] = {
    "add": _add,
    "inv": _inv,
    "powi": _powi,
    "exp": _exp,
    "log": _log,
    "sqrt": _sqrt,
    "abs": _abs,
    "pow": _pow,
    "max": lambda a, _: (max(x[0] for x in a), max(x[1] for x in a)),
    "min": lambda a, _: (min(x[0] for x in a), min(x[1] for x in a)),
    "sign": lambda a, _: (-1.0, 1.0),
    "argmax": lambda a, _: (0.0, 1.0),
    "indicator": lambda a, _: (0.0, 1.0),
    "sin": lambda a, _: (-1.0, 1.0),
    "cos": lambda a, _: (-1.0, 1.0),
    "arctan": lambda a, _: (-1.5708, 1.5708),
    "arcsin": lambda a, _: (-1.5708, 1.5708),
    "erf": lambda a, _: (-1.0, 1.0),
    "erfc": lambda a, _: (0.0, 2.0),
    "pi": lambda a, _: (3.14159265, 3.14159266),
}
