"""Graphs at many points.

The values in float64 against those of ball arithmetic, for every operation that is supported.
Points where an operation is not defined are `nan`, so that they are never taken for cases.
"""

from __future__ import annotations

import numpy as np
import pytest
from flint import fmpq

from attention_core.derivation.graph.nodes import Graph, Undefined
from attention_core.derivation.graph.numbers import (
    KNOWN,
    Imprecise,
    ball,
    columns,
    evaluate,
    is_supported,
    number,
    precision,
)

POINTS = [fmpq(p, 4) for p in (-9, -2, 1, 2, 5, 12)]


def built(op: str) -> tuple[Graph, int, int]:
    graph = Graph()
    x = graph.leaf(("x", (1, 1)))
    y = graph.add((x, graph.one))
    third = graph.const(fmpq(1, 3))
    made = {
        "add": lambda: graph.add((x, y)),
        "mul": lambda: graph.mul((x, y)),
        "inv": lambda: graph.inv(x),
        "powi": lambda: graph.power(x, graph.const(fmpq(-3))),
        "pow": lambda: graph.power(x, third),
        "max": lambda: graph.call("max", x, third),
        "min": lambda: graph.call("min", x, third),
        "pi": lambda: graph.add((graph.node("pi"), x)),
        "arcsin": lambda: graph.call("arcsin", graph.mul((graph.const(fmpq(1, 2)), x))),
        "indicator": lambda: graph.node("indicator", (x, third), "<="),
        "const": lambda: third,
        "leaf": lambda: x,
    }
    return graph, x, made[op]() if op in made else graph.call(op, x)


@pytest.mark.parametrize("op", sorted(KNOWN))
def test_float64_follows_the_exact_values(op: str) -> None:
    graph, x, root = built(op)
    order = graph.reachable([root, x])
    assert is_supported(graph, order)
    found = np.broadcast_to(columns(graph, order, {x: np.array([number(p) for p in POINTS])})[root], len(POINTS))
    defined = 0
    for place, point in enumerate(POINTS):
        try:
            with precision(128):
                (value,) = evaluate(graph, [root], {x: point})
        except (Undefined, Imprecise):
            assert np.isnan(found[place])
            continue
        defined += 1
        assert found[place] == pytest.approx(float(ball(value).mid()), rel=1e-12, abs=1e-12)
    assert defined >= 4


def test_numbers_beyond_float64_are_infinite() -> None:
    assert number(fmpq(10) ** 400) == float("inf") and number(-(fmpq(10) ** 400)) == float("-inf")
    assert number(fmpq(1, 3)) == 1 / 3
