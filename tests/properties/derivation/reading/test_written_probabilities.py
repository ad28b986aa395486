r"""$P(X > 0)$ of a declared random symbol is a probability, and is checked as $\Pr(X > 0)$: no display defines it."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import GOOD, StepReport, Verdict

NORMAL = r"Let $X \sim \mathcal{N}(0, 1)$."
BERNOULLI = r"Let $m \sim \operatorname{Bernoulli}(r)$."
BINOMIAL = r"Let $K \sim \operatorname{Binomial}(n, p)$."


def step_of(head: str, display: str) -> StepReport:
    return check_document(f"{head}\n\n$$ {display} $$\n", infer=True).steps[-1]


@pytest.mark.parametrize(
    ("head", "right", "wrong"),
    [
        (NORMAL, r"P(X > 0) = \frac12", r"P(X > 0) = \frac13"),
        (NORMAL, r"P\left[X > 0\right] = \frac12", r"P\left[X > 0\right] = \frac13"),
        (NORMAL, r"\mathrm{P}(X > 0) = \frac12", r"\mathrm{P}(X > 0) = \frac13"),
        (NORMAL, r"\frac12 = P(X > 0)", r"\frac13 = P(X > 0)"),
        (NORMAL, r"P(X > 0) \le \frac12", r"P(X > 0) \le \frac13"),
        (NORMAL, r"P(X > 0)^2 = \frac14", r"P(X > 0)^2 = \frac12"),
        (NORMAL, r"P(|X| > 1) = 2 P(X > 1)", r"P(|X| > 1) = 3 P(X > 1)"),
        (NORMAL, r"p(X > 0) = \frac12", r"p(X > 0) = \frac13"),
        (rf"{NORMAL} Put $Y := 2 X$.", r"P(Y > 0) = \frac12", r"P(Y > 0) = \frac13"),
        (BERNOULLI, "P(m = 1) = r", "P(m = 1) = 1 - r"),
        (BERNOULLI, "p(m = 1) = r", "p(m = 1) = 1 - r"),
        (r"Let $X, Y \sim \mathcal{N}(0, 1)$ be independent.", r"P(X > Y) = \frac12", r"P(X > Y) = \frac13"),
    ],
)
def test_a_plain_p_is_checked_as_a_probability(head: str, right: str, wrong: str) -> None:
    assert step_of(head, right).verdict in GOOD
    assert step_of(head, wrong).verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    "display",
    [r"P(K = k) = \binom{n}{k} p^k (1-p)^{k}", r"P(K \ge 1) = 1 - p^n", r"P(K = 0) = p^n"],
)
def test_what_is_claimed_of_a_binomial_number_is_no_definition(display: str) -> None:
    found = check_document(f"{BINOMIAL}\n\n$$ {display} $$\n", infer=True)
    assert [step.verdict for step in found.steps] == [Verdict.UNDECIDED]
    assert not any("defined by the display" in text for _, text in found.understood)


def test_the_event_of_an_interval_is_not_defined_but_computed() -> None:
    assert step_of(NORMAL, r"P(-1 < X < 1) = \frac13").verdict is Verdict.REFUTED


@pytest.mark.parametrize("display", [r"P(X > 0 \mid X > -1) = \frac13", r"P(X \in [0, 1]) = 2"])
def test_other_events_are_not_defined_either(display: str) -> None:
    found = check_document(f"{NORMAL}\n\n$$ {display} $$\n", infer=True)
    assert found.steps[-1].verdict is Verdict.UNREADABLE and "write a probability" in found.steps[-1].evidence.text


@pytest.mark.parametrize(
    ("head", "display"),
    [
        (rf"{NORMAL} Put $P(t) := t^2$.", "P(3) = 9"),  # P is a function here
        (rf"{NORMAL} Let $P \in \mathbb{{R}}$ and $x \in \mathbb{{R}}$.", "P(x + 1) = P x + P"),
    ],
)
def test_a_declared_p_stays_what_it_is(head: str, display: str) -> None:
    assert step_of(head, display).verdict in GOOD


@pytest.mark.parametrize("letter", [r"P_\theta", r"\mathcal{P}", "Q"])
def test_an_event_under_another_law_is_not_defined_by_a_display(letter: str) -> None:
    found = check_document(f"{NORMAL}\n\n$$ {letter}(X > 0) = \\frac13 $$\n", infer=True)
    assert [step.verdict for step in found.steps] == [Verdict.UNDECIDED]


def test_p_may_be_a_density() -> None:
    display = r"p(X = x) = \frac{1}{\sqrt{2 \pi}} e^{-x^2 / 2}"
    assert step_of(NORMAL, display).verdict is Verdict.UNDECIDED
