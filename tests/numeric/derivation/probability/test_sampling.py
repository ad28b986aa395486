"""Sampling, ranges and variance bounds.

Samples in float64 carry bounds of their errors, and intervals hold what they say: both against ball arithmetic.
Random expressions at random points; a bound that is too small by any factor would be seen here.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, fmpq

from attention_core.derivation.graph.bounds import bounds
from attention_core.derivation.graph.nodes import Graph, TooLarge, Undefined, Unsettled
from attention_core.derivation.graph.numbers import Imprecise, ball, evaluate, precision
from attention_core.derivation.probability.sampling import draws, evaluate_samples

OPS = ("add", "mul", "inv", "powi", "exp", "log", "sqrt", "abs", "max", "min", "sin", "cos", "erf", "sign", "indicator",
       "argmax", "floor", "share")  # fmt: skip


def drawn(graph: Graph, leaves: list[int], rng: random.Random, depth: int) -> int:
    if depth == 0 or rng.random() < 0.1:
        return rng.choice([*leaves, graph.const(Fraction(rng.randint(-4, 4), 3))])
    a, b, c = (drawn(graph, leaves, rng, depth - 1) for _ in range(3))
    op = rng.choice(OPS)
    if op == "add":
        return graph.add((a, b, c))
    if op == "mul":
        return graph.mul((a, b))
    if op == "inv":
        return graph.inv(a)
    if op == "powi":
        return graph.power(a, graph.const(Fraction(rng.choice([-2, 2, 3, 4]))))
    if op in ("max", "min"):
        return graph.call(op, a, b)
    if op == "indicator":
        return graph.node("indicator", (a, b), rng.choice(["<", "<=", ">", ">="]))
    if op == "argmax":
        return graph.node("argmax", (a, b), 0) if a != b else a
    if op == "share":
        parts = [graph.call("exp", x) for x in (a, b)]
        return graph.mul((parts[0], graph.inv(graph.add(parts))))
    return graph.call(op, a)


@pytest.mark.parametrize("seed", range(60))
def test_errors_and_ranges_hold(seed: int) -> None:
    graph, rng = Graph(), random.Random(seed)
    leaves = [graph.leaf(("x", (k, 1))) for k in (1, 2)]
    root = drawn(graph, leaves, rng, 3)
    noise = np.random.default_rng(seed)
    points = {n: noise.standard_normal(16) * 3 for n in leaves}
    try:
        off = {n: noise.choice([0.0, 1e-9, -1e-5], 16) for n in leaves}  # samples that are off by a known error
        moved = {n: v + off[n] for n, v in points.items()}
        slack = {n: np.abs(off[n]) * (1 + 1e-6) + 1e-15 * np.abs(points[n]) for n in leaves}
        ((values, errors),) = evaluate_samples(graph, [root], {n: (moved[n], slack[n]) for n in leaves})
    except Unsettled:
        return
    low, high = bounds(graph, [root], dict.fromkeys(leaves, (-20.0, 20.0)))[0]
    values, errors = np.broadcast_to(values, (16,)), np.broadcast_to(errors, (16,))
    for k in range(16):
        exact = {n: fmpq(*float(v[k]).as_integer_ratio()) for n, v in points.items()}
        try:
            with precision(600):
                (truth,) = evaluate(graph, [root], exact)
        except (Undefined, Imprecise, TooLarge):
            continue
        assert ball(truth).upper() >= arb(low) if math.isfinite(low) else True
        assert ball(truth).lower() <= arb(high) if math.isfinite(high) else True
        if math.isfinite(values[k]) and math.isfinite(errors[k]):
            gap = abs(ball(truth) - arb(float(values[k])))
            assert gap.lower() <= arb(float(errors[k])), (seed, k, float(gap.mid()), errors[k])


def test_softmax_weights_are_seen_to_be_bounded() -> None:
    graph = Graph()
    parts = [graph.call("exp", graph.leaf(("x", (k, 1)))) for k in (1, 2, 3)]
    over = graph.inv(graph.add(parts))
    weight = graph.mul((parts[0], over))
    low, high = bounds(graph, [weight], {})[0]
    assert low == 0 and 1 <= high <= 1 + 1e-9
    assert bounds(graph, [graph.mul((parts[0], graph.inv(graph.add(parts[1:]))))], {})[0][1] == math.inf


@pytest.mark.parametrize(
    ("law", "parameters", "mean", "variance"),
    [
        ("normal", (2.0, 9.0), 2.0, 9.0),
        ("uniform", (-1.0, 2.0), 0.5, 0.75),
        ("bernoulli", (0.3,), 0.3, 0.21),
        ("geometric", (0.2,), 5.0, 20.0),
        ("range", (2.0, 6.0), 4.0, 2.0),
        ("categorical", (0.8, 0.1, 0.1), 1.3, 0.41),
    ],
)
def test_draws_have_their_law(law: str, parameters: tuple[float, ...], mean: float, variance: float) -> None:
    values, _ = draws(law, [(p, 0.0) for p in parameters], 40_000, np.random.default_rng(7))
    assert abs(float(np.mean(values)) - mean) < 6 * math.sqrt(variance / 40_000)
    assert float(np.var(values)) == pytest.approx(variance, rel=0.1)


def test_an_unknown_law_is_refused() -> None:
    with pytest.raises(Unsettled):
        draws("cauchy", [], 3, np.random.default_rng(0))
