"""Arithmetic of asymptotic expansions.

Expansions against enclosures: what an O-term bounds stays bounded by it as the variable grows.
Expressions are drawn at random; the oracle is ball arithmetic at places far out, with thousands of bits.
"""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest
from flint import arb, fmpq

from attention_core.derivation.algebra.roots import Roots
from attention_core.derivation.graph.nodes import Graph, TooLarge, Undefined, Unsettled
from attention_core.derivation.graph.numbers import Imprecise, ball, evaluate, precision
from attention_core.derivation.limits.expander import Expander, Goal
from attention_core.derivation.limits.scales import Scale
from attention_core.derivation.limits.transseries import Expansions, Insufficient, Series, constant, variable


def enclosed(value: Any) -> arb:
    return value.ball() if isinstance(value, Roots) else ball(value)


def scale_at(scale: Scale, t: arb) -> arb:
    inner = arb(0)
    for e, q, c in scale.big:
        inner += enclosed(c) * t ** (arb(e.numerator) / e.denominator) * t.log() ** (arb(q.numerator) / q.denominator)
    return (inner + enclosed(scale.power) * t.log()).exp() * t.log() ** (
        arb(scale.logs.numerator) / scale.logs.denominator
    )


def drawn(graph: Graph, t: int, rng: random.Random, depth: int) -> int:
    """A random expression in t."""
    if depth == 0 or rng.random() < 0.1:
        simple = (
            t,
            graph.inv(t),
            graph.add((t, graph.one)),
            graph.add((graph.one, graph.inv(t))),
            graph.call("exp", graph.neg(t)),
            graph.const(Fraction(rng.randint(-3, 3), rng.randint(1, 3))),
        )
        return rng.choice(simple)
    one = drawn(graph, t, rng, depth - 1)
    two = drawn(graph, t, rng, depth - 1)
    kind = rng.choice(["add", "mul", "div", "div", "exp", "log", "log", "sqrt", "sub", "max", "erf", "sin"])
    if kind == "add":
        return graph.add((one, two))
    if kind == "sub":
        return graph.sub(one, two)
    if kind == "mul":
        return graph.mul((one, two))
    if kind == "div":
        return graph.div(one, two)
    if kind == "max":
        return graph.call("max", one, two)
    return graph.call(kind, one)


@pytest.mark.parametrize("seed", range(240))
def test_what_is_left_out_is_of_the_order_that_is_said(seed: int) -> None:
    graph = Graph()
    t = graph.leaf(("t", (1, 1)))
    rng = random.Random(seed)
    root = drawn(graph, t, rng, rng.randint(1, 3))
    goal = Goal(root, t, 1, 0, (), (), "t")
    try:
        with precision(256):
            series = Expander(graph, goal, {}, variable(), 4).series(root)
    except (Unsettled, Undefined, Insufficient, Imprecise, TooLarge):
        return  # no expansion here: nothing is claimed
    ratios = []
    for place in (10**3, 10**5):
        with precision(6000):
            try:
                (value,) = evaluate(graph, [root], {t: fmpq(place)})
            except (Imprecise, TooLarge, OverflowError):
                return
            except Undefined:
                pytest.fail(f"undefined at {place}, though it has an expansion")
            left = ball(value)
            for c, s in series.terms:
                left -= enclosed(c) * scale_at(s, arb(place))
            bound = scale_at(series.error, arb(place)) if series.error is not None else arb(0)
            if series.error is None:
                assert left.contains(0) or abs(left) < arb(10) ** -60 * (1 + abs(ball(value)))
                return
            ratios.append(float((left.abs_lower() / bound).mid()))
    assert ratios[1] <= 3 * ratios[0] + 10, (ratios, series)


def test_terms_that_cancel_ask_for_more_of_them() -> None:
    tools = Expansions(3)
    a = tools.exp(tools.inv(variable()))
    assert not tools.sub(a, a).terms
    with pytest.raises(Insufficient):
        tools.sub(a, a).eventual_sign()


def test_nothing_is_lost_in_exact_sums() -> None:
    tools = Expansions(5)
    x = variable()
    square = tools.mul(tools.add((x, constant(fmpq(1)))), tools.sub(x, constant(fmpq(1))))
    assert tools.sub(square, tools.mul(x, x)).limit() == (fmpq(-1), 0)
    assert tools.sub(x, x).vanishes
    assert Series().limit() == (fmpq(0), 0)


def test_a_division_by_zero_is_undefined() -> None:
    with pytest.raises(Undefined):
        Expansions(3).inv(Series())
    with pytest.raises(Undefined):
        Expansions(3).log(constant(fmpq(-1)))
