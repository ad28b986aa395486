"""Graphs at many points.

The values in float64 against those of ball arithmetic, for every operation that is supported.
Points where an operation is not defined are `nan`, so that they are never taken for cases.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from flint import arb, ctx, fmpq

from attention_core.derivation.graph.nodes import Graph, TooLarge, Undefined, square_root
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

POINTS = [fmpq(p, 4) for p in (-9, -2, -1, 1, 2, 5, 12)]


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


CONSTANTS = [fmpq(0), fmpq(1), fmpq(-1), fmpq(2, 3), fmpq(-2, 3), fmpq(3, 2)]


@pytest.mark.parametrize("chosen", [c for k in range(4) for c in itertools.product(CONSTANTS, repeat=k)])
def test_constants_of_sums_and_products_are_folded(chosen: tuple[fmpq, ...]) -> None:
    graph = Graph()
    x = graph.leaf(("x", (1, 1)))
    parts = [x, *(graph.const(c) for c in chosen)]
    plus, times = graph.add(parts), graph.mul(parts[1:] + parts[:1])
    total, scale = sum(chosen, fmpq(0)), math.prod(chosen, start=fmpq(1))
    assert evaluate(graph, [plus, times], {x: fmpq(5)}) == [5 + total, 5 * scale]
    assert (plus == x) == (total == 0)
    assert (times == x, times == graph.zero) == (scale == 1, scale == 0)
    assert graph.add(parts[1:]) == graph.const(total) and graph.mul(parts[1:]) == graph.const(scale)


def test_a_graph_with_a_bound_counts_lone_constants() -> None:
    graph = Graph(10)
    x, two = graph.leaf(("x", (1, 1))), graph.const(fmpq(2))
    graph.mul((x, two))
    with pytest.raises(TooLarge, match="more than 30 operations"):
        for _ in range(20):
            graph.mul((x, two))
    assert graph.work == 31


@pytest.mark.parametrize("times", range(12))
def test_whole_powers_of_balls_enclose_the_power(times: int) -> None:
    graph = Graph()
    x = graph.leaf(("x", (1, 1)))
    for value in (fmpq(-2, 3), fmpq(7, 5), fmpq(0)):
        wide = arb(value).union(arb(value + fmpq(1, 10**9)))
        (found,) = evaluate(graph, [graph.power(x, graph.const(fmpq(times)))], {x: lambda wide=wide: wide})
        assert ball(found).contains(value**times) and ball(found).rad() < 1e-6


def test_precision_is_put_back_after_an_error() -> None:
    before = ctx.prec
    with pytest.raises(ZeroDivisionError), precision(before + 100), precision(before + 200):
        assert ctx.prec == before + 200
        raise ZeroDivisionError
    assert ctx.prec == before


@pytest.mark.parametrize("value", [0, 1, 4, fmpq(9, 16), 10**400, fmpq(4, 9**300)])
def test_squares_have_exact_roots_and_what_is_next_to_them_has_none(value: int | fmpq) -> None:
    square = fmpq(value)
    root = square_root(square)
    assert root is not None and root * root == square
    assert square_root(2 * square) is None or value == 0
