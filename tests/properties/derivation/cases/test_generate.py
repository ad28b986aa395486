"""Cases that follow from their free entries.

Completed cases against the hypotheses they were completed for, in float64 and exactly, and the two against each other.
Hypotheses that need more than one vector at a time are left to the generator of cases.
"""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from flint import fmpq

from attention_core.derivation.cases.generate import Completion, NoCase, completion, domain, holds, linear
from attention_core.derivation.cases.problem import Problem
from attention_core.derivation.claims import claim_of
from attention_core.derivation.graph.numbers import ball, precision
from attention_core.derivation.lowering.plans import CasePlan
from attention_core.derivation.reading.step import Step
from attention_core.derivation.reading.steps import steps_of


def completed(declared: str, **sizes: int) -> Completion | None:
    (step,) = [s for s in steps_of(f"{declared}\n\n$$ x = y $$\n")[0] if isinstance(s, Step)]
    problem = Problem(*claim_of(step))
    site = problem.site(sizes)
    assert site is not None
    return completion(site.plan)


XY = r"Let $x, y \in \mathbb{R}$"


@pytest.mark.parametrize(
    ("declared", "x", "y", "found"),
    [
        (f"{XY} with $x^2 + y^2 = 1$.", fmpq(3, 5), fmpq(1), 0.8),
        (f"{XY} with $x^2 + y^2 = 1$.", fmpq(3, 5), fmpq(-1), -0.8),
        (f"{XY} with $x^2 + y^2 = 1$.", fmpq(1, 2), fmpq(1), 3**0.5 / 2),
        (f"{XY} with $x^2 + y^2 + y = 1$.", fmpq(1, 2), fmpq(1), 0.5),
        (f"{XY} with $x^2 + y^2 + y = 1$.", fmpq(0), fmpq(1), (5**0.5 - 1) / 2),
        (f"{XY} with $x^2 - y^2 - y = 0$.", fmpq(1), fmpq(1), (5**0.5 - 1) / 2),
        (f"{XY} with $2 x + 3 y = 12$.", fmpq(3), fmpq(0), 2.0),
        (f"{XY} with $y = e^x$.", fmpq(1), fmpq(0), np.e),
    ],
)
def test_what_an_equation_fixes_is_solved_for(declared: str, x: fmpq, y: fmpq, found: float) -> None:
    made = completed(declared)
    assert made is not None
    free = dict(zip(sorted(made.plan.order), (x, y), strict=True))
    values = {n: np.array([float(v.p) / float(v.q)]) for n, v in free.items()}
    last = max(made.plan.order)
    assert made.fill(values).all() and values[last][0] == pytest.approx(found, rel=1e-12)
    with precision(128):
        exact = made.case({n: v for n, v in free.items() if n in made.free})[last]
        value = exact() if callable(exact) else exact
        assert float(ball(value).mid()) == pytest.approx(found, rel=1e-12)


def test_points_that_break_a_hypothesis_are_no_cases() -> None:
    made = completed(f"{XY} with $x^2 + y^2 = 1$ and $x \\ge 0$.")
    assert made is not None
    first, last = sorted(made.plan.order)
    values = {first: np.array([0.5, -0.5, 2.0]), last: np.ones(3)}
    assert list(made.fill(values)) == [True, False, False]
    for x in (fmpq(-1, 2), fmpq(2)):
        with pytest.raises(NoCase):
            made.case({first: x, last: fmpq(1)})


def test_entries_with_listed_values_take_no_others() -> None:
    made = completed(r"Let $x \sim \operatorname{Bernoulli}(1/3)$ and $y \in \mathbb{R}$.")
    assert made is not None
    first, last = sorted(made.plan.order)
    values = {first: np.array([0.0, 1.0, 0.5, 2.0]), last: np.ones(4)}
    assert list(made.fill(values)) == [True, True, False, False]
    assert made.case({first: fmpq(1), last: fmpq(1)})[first] == 1
    with pytest.raises(NoCase):
        made.case({first: fmpq(1, 2), last: fmpq(1)})


def test_a_vector_gets_its_length() -> None:
    made = completed(r"Let $n \in \mathbb{N}$, $x, y \in \mathbb{R}^n$ with $\|x\| = 2$.", n=2)
    assert made is not None
    values = {n: np.array([float(k)]) for k, n in enumerate(sorted(made.plan.order))}
    assert made.fill(values).all()
    assert sum(values[n][0] ** 2 for n in sorted(made.plan.order)[:2]) == pytest.approx(4)


def test_orthogonal_vectors_are_left_to_the_generator() -> None:
    assert completed(r"Let $n \in \mathbb{N}$, $x, y \in \mathbb{R}^n$ with $x^\top y = 0$.", n=2) is None


BOUNDED = r"""Let $n \in \mathbb{N}$, $x, y, z \in \mathbb{R}$, $a, k_1, \dots, k_n \in \mathbb{R}^2$ with $x \le y$, $z > \frac{1}{3}$,
$2 x + y \le 3$, $z \ge x$, $k_i^\top k_j = 0$ for $i \ne j$ and $|a_j| \le 2$."""
VALUES = (fmpq(0), fmpq(1, 3), fmpq(1), fmpq(-2), fmpq(5, 7))


def plan_of(declared: str, **sizes: int) -> CasePlan:
    (step,) = [s for s in steps_of(f"{declared}\n\n$$ x + n = y + z + k_1^\\top a $$\n")[0] if isinstance(s, Step)]
    site = Problem(*claim_of(step)).site(sizes)
    assert site is not None
    return site.plan


def test_bounds_that_are_read_hold_where_evaluated_ones_do() -> None:
    made, rng = plan_of(BOUNDED, n=2), random.Random(3)
    constraints = made.distinct()
    outcomes = set()
    for _ in range(60):
        values = {node: rng.choice(VALUES) for node in made.entries}
        for c in constraints:
            outcomes.add((c.op, holds(made, c, values)))
            assert holds(made, c, values) == holds(made, replace(c, left=-1, right=-1), values)
            for node in c.leaves:
                assert linear(made, c, node, values) == linear(made, replace(c, left=-1, right=-1), node, values)
    assert outcomes >= {(op, met) for op in ("<", "<=", "=") for met in (True, False)}


def test_what_hypotheses_say_twice_is_one_constraint() -> None:
    made = plan_of(BOUNDED, n=2)
    every = [(c.difference, c.op) for c in (*made.constraints, *made.checks)]
    assert sorted({*every}) == sorted((c.difference, c.op) for c in made.distinct())
    assert len(made.distinct()) < len(every)


def test_each_leaf_knows_its_constraints() -> None:
    made = plan_of(BOUNDED, n=2)
    for node in made.entries:
        assert made.constraints_on(node) == [c for c in made.constraints if node in c.leaves]


def test_the_ends_of_an_interval_are_kept_only_where_they_follow_from_nothing() -> None:
    made = plan_of(
        r"Let $n \in \mathbb{N}$, $k_1, \dots, k_n, a \in \mathbb{R}^2$, $y \in [0, 1]$, $x \in [0, y]$ and $z \in [1, \pi]$.",
        n=2,
    )
    nodes = {symbol.name: node for node, (symbol, _) in made.entries.items()}
    symbols = {symbol.name: symbol for symbol, _ in made.entries.values()}
    with precision(128):
        for y in VALUES:
            assert domain(made, symbols["x"], {nodes["y"]: y}) == (0, y, False, False)
            assert domain(made, symbols["y"], {}) == (0, 1, False, False)
            assert 3 < domain(made, symbols["z"], {})[1] < 4
    assert made.ends.keys() == {"y"}
