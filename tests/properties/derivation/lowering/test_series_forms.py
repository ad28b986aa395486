r"""Sums without end: their closed forms against partial sums, and steps that are decided by them."""

from __future__ import annotations

from math import factorial

import pytest
from flint import arb, fmpq

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.graph.nodes import Graph, Undefined
from attention_core.derivation.graph.numbers import ball, evaluate, precision
from attention_core.derivation.lowering.series_forms import Series
from attention_core.derivation.records import GOOD, StepReport, Verdict


@pytest.mark.parametrize(("power", "kind"), [(0, 0), (1, 0), (3, 0), (-1, 0), (0, -1), (2, -1)])
@pytest.mark.parametrize("first", [1, 3])
@pytest.mark.parametrize("ratio", [fmpq(1, 2), fmpq(-2, 3)])
def test_a_closed_form_is_the_limit_of_partial_sums(power: int, kind: int, first: int, ratio: fmpq) -> None:
    graph = Graph()
    r = graph.leaf(("r", (1, 1)))
    node = Series(graph, first).total((power, r, kind))
    terms = 400  # the rest is below 400^3 (2/3)^400 / (1 - 2/3) < 1e-60
    partial = fmpq(0)
    for k in range(first, terms):
        partial += fmpq(k) ** power * ratio**k / (factorial(k) if kind else 1)
    with precision(300):
        (value,) = evaluate(graph, [node], {r: ratio})
        assert abs(ball(value) - ball(partial)) < arb("1e-60")


def test_nothing_is_defined_where_a_sum_diverges() -> None:
    graph = Graph()
    r = graph.leaf(("r", (1, 1)))
    node = Series(graph, 0).total((0, r, 0))
    for ratio in (fmpq(1), fmpq(-1), fmpq(2)):
        with precision(100), pytest.raises(Undefined):
            evaluate(graph, [node], {r: ratio})


@pytest.mark.parametrize(
    "step",
    [
        r"\sum_{k=0}^\infty (-1)^k = \frac{1}{2}",  # as Abel sums it
        r"\sum_{k=0}^\infty 2^k = -1",  # a 2-adic number
        r"\sum_{k=1}^\infty \frac{1}{k} \ge 5",  # infinity is
    ],
)
def test_a_sum_that_diverges_may_have_a_value_all_the_same(step: str) -> None:
    found = step_of(step)
    assert found.verdict is Verdict.UNDECIDED and "diverges" in found.evidence.text


def step_of(step: str, head: str = r"Let $0 < x < 1$ and $t \in \mathbb{R}$.") -> StepReport:
    text = f"{head} All hypotheses are declared as formulas.\n\n$$ {step} $$\n"
    return check_document(text, effort=Effort(seconds=5.0), infer=True).steps[-1]


RIGHT_AND_WRONG = [
    (r"\sum_{k=0}^\infty x^k = \frac{1}{1 - x}", r"\sum_{k=0}^\infty x^k = \frac{x}{1 - x}"),
    (r"\sum_{k=1}^\infty k x^k = \frac{x}{(1 - x)^2}", r"\sum_{k=1}^\infty k x^k = \frac{1}{(1 - x)^2}"),
    (r"\sum_{k=1}^\infty k^2 x^k = \frac{x (1 + x)}{(1 - x)^3}", r"\sum_{k=1}^\infty k^2 x^k = \frac{x}{(1 - x)^3}"),
    (r"\sum_{k=1}^\infty \frac{x^k}{k} = -\ln(1 - x)", r"\sum_{k=1}^\infty \frac{x^k}{k} = \ln(1 - x)"),
    (r"\sum_{k=0}^\infty (-1)^k x^{2 k} = \frac{1}{1 + x^2}", r"\sum_{k=0}^\infty (-1)^k x^{2 k} = \frac{1}{1 - x^2}"),
    (r"\sum_{k=0}^\infty \frac{t^k}{k!} = e^t", r"\sum_{k=1}^\infty \frac{t^k}{k!} = e^t"),
    (r"\sum_{k=1}^\infty \frac{1}{k^2} = \frac{\pi^2}{6}", r"\sum_{k=1}^\infty \frac{1}{k^2} = \frac{\pi^2}{8}"),
    (r"\sum_{k \ge 1} 2^{-k} = 1", r"\sum_{k \ge 0} 2^{-k} = 1"),
]


@pytest.mark.parametrize(("right", "wrong"), RIGHT_AND_WRONG, ids=[right[:34] for right, _ in RIGHT_AND_WRONG])
def test_steps_are_decided(right: str, wrong: str) -> None:
    assert step_of(right).verdict in GOOD
    assert step_of(wrong).verdict is Verdict.REFUTED


def test_a_sum_that_may_diverge_is_ambiguous() -> None:
    step = step_of(r"\sum_{k=0}^\infty t^k = \frac{1}{1 - t}")
    assert step.verdict is Verdict.AMBIGUOUS
    assert "where the sum converges" in step.evidence.text


@pytest.mark.parametrize(
    "step",
    [r"\sum_{k=1}^\infty \frac{1}{k} = 3", r"\sum_{k=1}^\infty \frac{x^k}{k + 1} = x", r"\sum_{k=0}^\infty 2^k = -1"],
)
def test_what_has_no_closed_form_is_undecided(step: str) -> None:
    assert step_of(step).verdict is Verdict.UNDECIDED
