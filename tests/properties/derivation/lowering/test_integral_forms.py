r"""Integrals of densities: right ones hold, planted errors are refuted, and what diverges is told."""

from __future__ import annotations

import pytest
from flint import acb, arb, ctx, fmpq

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.graph.nodes import Graph
from attention_core.derivation.graph.numbers import evaluate
from attention_core.derivation.lowering.integral_forms import Interval
from attention_core.derivation.records import GOOD, StepReport, Verdict

NORMAL = r"\frac{1}{\sqrt{2 \pi} \sigma} e^{-\frac{(x - \mu)^2}{2 \sigma^2}}"
OTHER = r"\frac{1}{\sqrt{2 \pi} s} e^{-\frac{(m - x)^2}{2 s^2}}"
MARGINAL = r"\frac{1}{\sqrt{2 \pi (\sigma^2 + s^2)}} e^{-\frac{(m - \mu)^2}{2 (\sigma^2 + s^2)}}"
GAMMA = r"\frac{\lambda^n}{(n-1)!} x^{n-1} e^{-\lambda x}"
BETA = r"\frac{(n + k - 1)!}{(n - 1)! (k - 1)!} x^{n-1} (1 - x)^{k-1}"
LINE, HALF, UNIT = r"\int_{-\infty}^{\infty}", r"\int_0^\infty", r"\int_0^1"
HEAD = (
    r"Let $\mu, m, a, b \in \mathbb{R}$ with $a < b$, $n, k \in \mathbb{N}$, and $\sigma > 0$, $s > 0$, $\lambda > 0$."
)
RIGHT_AND_WRONG = [
    (rf"{LINE} {NORMAL} \, dx = 1", rf"{LINE} {NORMAL} \, dx = 2"),
    (rf"\int x {NORMAL} \, dx = \mu", rf"\int x {NORMAL} \, dx = -\mu"),
    (rf"{LINE} (x - \mu)^2 {NORMAL} \, dx = \sigma^2", rf"{LINE} (x - \mu)^2 {NORMAL} \, dx = \sigma"),
    (rf"{LINE} x^2 {NORMAL} \, dx = \mu^2 + \sigma^2", rf"{LINE} x^2 {NORMAL} \, dx = \mu^2 - \sigma^2"),
    (rf"{LINE} (x - \mu)^4 {NORMAL} \, dx = 3 \sigma^4", rf"{LINE} (x - \mu)^4 {NORMAL} \, dx = 4 \sigma^4"),
    (rf"{LINE} {OTHER} {NORMAL} \, dx = {MARGINAL}", rf"{LINE} {OTHER} {NORMAL} \, dx = {NORMAL.replace('x', 'm')}"),
    (rf"{HALF} \lambda e^{{-\lambda x}} \, dx = 1", rf"{HALF} e^{{-\lambda x}} \, dx = 1"),
    (rf"{HALF} x \lambda e^{{-\lambda x}} \, dx = \frac{{1}}{{\lambda}}", rf"{HALF} x \lambda e^{{-\lambda x}} \, dx = \lambda"),
    (r"\int_a^\infty e^{-\lambda x} \, dx = \frac{e^{-\lambda a}}{\lambda}", r"\int_a^\infty e^{-\lambda x} \, dx = e^{-\lambda a}"),
    (r"\int_a^b \frac{x}{b - a} \, dx = \frac{a + b}{2}", r"\int_a^b \frac{x}{b - a} \, dx = \frac{b - a}{2}"),
    (r"\int_a^b \frac{x^2}{b - a} dx = \frac{a^2 + a b + b^2}{3}", r"\int_a^b \frac{x^2}{b - a} dx = \frac{a^2 + b^2}{3}"),
    (rf"{HALF} {GAMMA} \, dx = 1", rf"{HALF} x {GAMMA} \, dx = 1"),
    (rf"{HALF} x {GAMMA} \, dx = \frac{{n}}{{\lambda}}", rf"{HALF} x {GAMMA} \, dx = \frac{{n}}{{\lambda^2}}"),
    (rf"{UNIT} {BETA} \, dx = 1", rf"{UNIT} {BETA} \, dx = n"),
    (rf"{UNIT} x {BETA} \, dx = \frac{{n}}{{n + k}}", rf"{UNIT} x {BETA} \, dx = \frac{{k}}{{n + k}}"),
]  # fmt: skip

NAMES = [
    "normal", "normal-mean", "normal-variance", "normal-square", "normal-fourth", "marginal", "exponential",
    "exponential-mean", "tail", "uniform-mean", "uniform-square", "gamma", "gamma-mean", "beta", "beta-mean",
]  # fmt: skip


def step_of(step: str, head: str = HEAD) -> StepReport:
    return check_document(f"{head}\n\n$$ {step} $$\n", effort=Effort(seconds=4.0)).steps[-1]


@pytest.mark.thorough(keep=("normal-mean", "exponential*", "uniform-mean"))
@pytest.mark.parametrize(("right", "wrong"), RIGHT_AND_WRONG, ids=NAMES)
def test_integrals_of_the_usual_densities(right: str, wrong: str) -> None:
    assert step_of(right).verdict in GOOD
    assert step_of(wrong).verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    "step",
    [rf"{HALF} e^x \, dx = 1", rf"{HALF} x \, dx = 1", rf"{LINE} e^{{-x}} \, dx = 1", rf"{LINE} e^{{x^2}} \, dx = 1"],
)
def test_what_diverges_is_no_number(step: str) -> None:
    found = step_of(step)
    assert found.verdict is Verdict.REFUTED and "the left side is infinite" in found.evidence.text


def test_a_rate_that_may_be_negative_is_ambiguous_and_the_hypothesis_named() -> None:
    step = rf"{HALF} \lambda e^{{-\lambda x}} \, dx = 1"
    found = step_of(step, r"Let $\lambda \ne 0$.")
    assert found.verdict is Verdict.AMBIGUOUS and "it diverges" in found.evidence.text
    assert r"assume $\lambda > 0$" in found.evidence.advice
    assert step_of(step, r"Let $\lambda > 0$.").verdict is Verdict.PROVED
    assert step_of(step, r"Let $\lambda < 0$.").verdict is Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("head", "step"),
    [
        (r"Let $b \in \mathbb{R}$.", rf"{UNIT} e^{{b x}} \, dx \ne 1"),
        (r"Let $a \in \mathbb{R}$.", rf"{UNIT} e^{{-a x^2}} \, dx \le 1"),
        (r"Let $a \ge 0$.", rf"{UNIT} e^{{-a x^2}} \, dx < 1"),
        (r"Let $\lambda \ge 0$.", rf"{HALF} \lambda e^{{-\lambda x}} \, dx = 1"),
    ],
    ids=["rate-of-zero", "square-that-grows", "square-of-zero", "factor-of-zero"],
)
def test_a_value_that_no_closed_form_gives_leaves_a_false_step_open(head: str, step: str) -> None:
    found = step_of(step, head)
    assert found.verdict is Verdict.UNDECIDED and "nothing was compared" in found.evidence.text


def test_a_rate_that_is_not_zero_loses_no_value() -> None:
    assert step_of(rf"{UNIT} e^{{b x}} \, dx = \frac{{e^b - 1}}{{b}}", r"Let $b \ne 0$.").verdict in GOOD
    assert step_of(rf"{HALF} e^{{-s x}} \, dx = \frac{{1}}{{s}}", r"Let $s > 0$.").verdict in GOOD


def test_an_antiderivative_is_not_an_integral_over_all_numbers() -> None:
    found = step_of(r"\int e^{-x^2} \, dx = x", r"Let $x \in \mathbb{R}$.")
    assert found.verdict is Verdict.UNREADABLE and "antiderivative" in found.evidence.text


def test_no_display_defines_an_integral_that_is_written_out() -> None:
    text = "$$ \\int_0^1 x^2 dx = \\frac12 $$\n\n$$ \\int_0^1 x^2 dx = \\frac13 $$\n"
    wrong, right = check_document(text, effort=Effort(seconds=4.0), infer=True).steps
    assert wrong.verdict is Verdict.REFUTED and right.verdict in GOOD


def test_a_density_that_nothing_defines_stays_open() -> None:
    (found,) = check_document("$$ \\int p(z) dz = 2 $$\n", effort=Effort(seconds=4.0), infer=True).steps
    assert found.verdict is Verdict.UNDECIDED


@pytest.mark.parametrize("power", [0, 1, 2, 5])
@pytest.mark.parametrize("square", [fmpq(0), fmpq(-2, 3)])
@pytest.mark.parametrize("rate", [fmpq(0), fmpq(-3, 2), fmpq(1, 5)])
def test_closed_forms_are_what_rigorous_quadrature_gives(power: int, square: fmpq, rate: fmpq) -> None:
    low, high, graph = fmpq(-1, 2), fmpq(7, 3), Graph()
    node = Interval(graph, graph.const(low), graph.const(high)).integrate(
        (power, graph.const(square), graph.const(rate))
    )
    before, ctx.prec = ctx.prec, 128
    try:
        (value,) = evaluate(graph, [node], {})

        def integrand(x: acb, _: bool) -> acb:
            return x**power * (acb(square) * x * x + acb(rate) * x).exp()

        assert acb.integral(integrand, acb(low), acb(high)).real.overlaps(arb(value))
    finally:
        ctx.prec = before


@pytest.mark.parametrize("side", [r"\frac{\sin(a)}{a}", r"\sin(a) / a"])
def test_what_is_undefined_beside_an_integral_is_not_called_its_divergence(side: str) -> None:
    found = check_document(rf"$$ {UNIT} \cos(a x) dx = {side} $$", infer=True, effort=Effort(seconds=4.0)).steps[0]
    assert found.verdict in GOOD and "diverge" not in found.evidence.text
    assert "cases where a side is not defined were left out" in found.evidence.text
