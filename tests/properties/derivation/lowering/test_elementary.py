r"""Tangents, hyperbolic functions and the inverse ones: values, slopes, domains, and steps that are decided by them."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from flint import fmpq

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.graph.nodes import Graph, Undefined, gradients
from attention_core.derivation.graph.numbers import ball, evaluate, precision
from attention_core.derivation.lowering.elementary import FORMS
from attention_core.derivation.records import GOOD, StepReport, Verdict

AT = (-0.75, -0.25, 0.5, 0.875)  # of arcosh one more
TRUTH: dict[str, Callable[[float], float]] = {
    "tan": math.tan, "cot": lambda x: 1 / math.tan(x), "sec": lambda x: 1 / math.cos(x),
    "csc": lambda x: 1 / math.sin(x), "sinh": math.sinh, "cosh": math.cosh, "coth": lambda x: 1 / math.tanh(x),
    "sech": lambda x: 1 / math.cosh(x), "csch": lambda x: 1 / math.sinh(x), "arccos": math.acos,
    "arsinh": math.asinh, "arcosh": lambda x: math.acosh(x), "artanh": math.atanh, "arctan": math.atan,
    "arcsin": math.asin,
}  # fmt: skip


def node_of(name: str, graph: Graph, x: int) -> int:
    return FORMS[name](graph, x) if name in FORMS else graph.call(name, x)


@pytest.mark.parametrize("name", TRUTH)
def test_values_and_slopes_are_those_of_the_function(name: str) -> None:
    graph = Graph()
    x = graph.leaf(("x", (1, 1)))
    node = node_of(name, graph, x)
    (slope,) = gradients(graph, node, [x])
    assert name in FORMS or name in ("arctan", "arcsin")
    for point in AT if name != "arcosh" else (1.25, 3.5):
        with precision(200):
            value, rate = (
                float(ball(v).mid()) for v in evaluate(graph, [node, slope], {x: fmpq(*point.as_integer_ratio())})
            )
        step = 1e-5
        across = (TRUTH[name](point + step) - TRUTH[name](point - step)) / (2 * step)
        assert value == pytest.approx(TRUTH[name](point), rel=1e-14)
        assert rate == pytest.approx(across, rel=1e-7)  # an error of step^2 times the third derivative


@pytest.mark.parametrize(
    ("name", "point"),
    [
        ("arcsin", 2), ("arccos", -2), ("arcosh", 0), ("arcosh", -3), ("artanh", 1), ("artanh", -2), ("cot", 0),
        ("csc", 0), ("coth", 0), ("csch", 0),
    ],
)  # fmt: skip
def test_nothing_is_defined_outside_the_domain(name: str, point: int) -> None:
    graph = Graph()
    x = graph.leaf(("x", (1, 1)))
    with precision(100), pytest.raises(Undefined):
        evaluate(graph, [node_of(name, graph, x)], {x: fmpq(point)})


def step_of(step: str) -> StepReport:
    head = r"Let $0 < x < 1$ and $t, y \in \mathbb{R}$. All hypotheses are declared as formulas."
    return check_document(f"{head}\n\n$$ {step} $$\n", effort=Effort(seconds=6.0), infer=True).steps[-1]


RIGHT_AND_WRONG = [
    (r"\cosh^2 t - \sinh^2 t = 1", r"\cosh^2 t + \sinh^2 t = 1"),
    (r"\frac{d}{dx} \arcsin x = \frac{1}{\sqrt{1 - x^2}}", r"\frac{d}{dx} \arcsin x = \frac{1}{\sqrt{1 + x^2}}"),
    (r"\frac{d}{dt} \arctan t = \frac{1}{1 + t^2}", r"\frac{d}{dt} \arctan t = \frac{1}{\cos^2 t}"),
    (r"\frac{d}{dx} \tan x = \sec^2 x", r"\frac{d}{dx} \tan x = 1 - \tan^2 x"),
    (r"\arcsin x + \arccos x = \frac{\pi}{2}", r"\arcsin x + \arccos x = \pi"),
    (r"\int_0^x \frac{1}{1 + s^2} ds = \arctan x", r"\int_0^x \frac{1}{1 + s^2} ds = \tan x"),
    (r"\int_0^x \arctan s \, ds = x \arctan x - \frac{\log(1 + x^2)}{2}", r"\int_0^x \arctan s \, ds = x \arctan x"),
    (
        r"\int_0^x \arcsin s \, ds = x \arcsin x + \sqrt{1 - x^2} - 1",
        r"\int_0^x \arcsin s \, ds = x \arcsin x + \sqrt{1 - x^2}",
    ),
    (r"\lim_{y \to 0} \frac{\tan y - y}{y^3} = \frac13", r"\lim_{y \to 0} \frac{\tan y - y}{y^3} = \frac16"),
    (r"\lim_{y \to 0} \frac{\arcsin y - y}{y^3} = \frac16", r"\lim_{y \to 0} \frac{\arcsin y - y}{y^3} = \frac13"),
    (r"\lim_{y \to 0} \frac{y - \arctan y}{y^3} = \frac13", r"\lim_{y \to 0} \frac{y - \arctan y}{y^3} = \frac16"),
    (r"\lim_{y \to \infty} \arctan y = \frac{\pi}{2}", r"\lim_{y \to \infty} \arctan y = \pi"),
    (r"\lim_{y \to -\infty} \arctan y = -\frac{\pi}{2}", r"\lim_{y \to -\infty} \arctan y = \frac{\pi}{2}"),
    (r"\cosh t \le e^{t^2/2}", r"\cosh t \le e^{t^2/4}"),
    (r"\operatorname{arcosh}(\cosh(t)) = |t|", r"\operatorname{arcosh}(\cosh(t)) = t"),
    (r"\operatorname{erfc}(t) + \operatorname{erf}(t) = 1", r"\operatorname{erfc}(t) - \operatorname{erf}(t) = 1"),
    (r"tan(x) = sin(x) / cos(x)", r"tan(x) = cos(x) / sin(x)"),
]


@pytest.mark.parametrize(("right", "wrong"), RIGHT_AND_WRONG, ids=[right[:28] for right, _ in RIGHT_AND_WRONG])
def test_steps_are_decided(right: str, wrong: str) -> None:
    assert step_of(right).verdict in GOOD
    assert step_of(wrong).verdict is Verdict.REFUTED


def test_an_exponent_of_minus_one_has_two_readings() -> None:
    step = step_of(r"\tan^{-1}(x) = \arctan x")
    assert step.verdict is Verdict.UNREADABLE
    assert r"write \arctan for the one, 1 / ... for the other" in step.evidence.text
