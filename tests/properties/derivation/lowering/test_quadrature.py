r"""Integrals without a closed form: enclosed, so that right ones hold and planted errors are refuted."""

from __future__ import annotations

import pytest
from flint import acb, fmpq

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.graph.nodes import Graph
from attention_core.derivation.graph.numbers import evaluate, precision
from attention_core.derivation.lowering.quadrature import quadrature
from attention_core.derivation.records import GOOD, StepReport, Verdict

HEAD = r"Let $a, b \in \mathbb{R}$ with $a > 0$."
RIGHT_AND_WRONG = [
    (r"\int_0^1 \frac{1}{1 + x^2} \, dx = \frac{\pi}{4}", r"\int_0^1 \frac{1}{1 + x^2} \, dx = \frac{\pi}{3}"),
    (r"\int_1^a \frac{1}{x} \, dx = \log a", r"\int_1^a \frac{1}{x} \, dx = a \log a"),
    (r"\int_0^b \cos(x) \, dx = \sin(b)", r"\int_0^b \cos(x) \, dx = \sin(b) + \frac{b}{1000}"),
    (r"\int_0^1 \sqrt{1 + x^3} \, dx \ge 1.11", r"\int_0^1 \sqrt{1 + x^3} \, dx \ge 1.12"),
]


def step_of(step: str) -> StepReport:
    return check_document(f"{HEAD}\n\n$$ {step} $$\n", effort=Effort(seconds=4.0)).steps[-1]


@pytest.mark.parametrize(("right", "wrong"), RIGHT_AND_WRONG, ids=["arctan", "log", "sine", "root"])
def test_integrals_over_finite_intervals_are_decided(right: str, wrong: str) -> None:
    assert step_of(right).verdict in GOOD
    assert step_of(wrong).verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    "step",
    [
        r"\int_{-1}^1 \frac{1}{x} \, dx = 0",
        r"\int_{-1}^1 \sqrt{x} \, dx = 1",
        r"\int_{-1}^1 \sqrt{x} \sqrt{x} \, dx = 0",
    ],
    ids=["pole", "no real value", "a real value of complex roots"],
)
def test_what_has_no_value_stays_open(step: str) -> None:
    assert step_of(step).verdict is Verdict.UNDECIDED


def test_the_ball_holds_the_integral_and_is_as_narrow_as_asked() -> None:
    graph = Graph()
    x, t = graph.leaf(("x", (1, 1))), graph.leaf(("t", (1, 1)))
    body = graph.inv(graph.add((t, graph.mul((x, x)))))
    node = quadrature(graph, body, x, graph.zero, graph.one)
    assert node is not None
    with precision(128):
        (found,) = evaluate(graph, [node], {t: fmpq(1)})
        assert found.contains(acb.pi().real / 4) and found.rad() < 2**-100


def test_what_has_no_complex_form_has_no_node() -> None:
    graph = Graph()
    x = graph.leaf(("x", (1, 1)))
    assert quadrature(graph, graph.call("floor", x), x, graph.zero, graph.one) is None
