r"""A $\pi$ that is not 3.14: nothing is accepted or refuted by that number where the document uses the letter otherwise."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import Verdict


def check(formula: str, above: str = "", below: str = "", as_read: bool = True):
    return check_document(f"{above}\n\n$$ {formula} $$\n\n{below}\n", infer=True, as_read=as_read).steps[0]


USES = [
    "It comes from the first component with probability $\\pi$.",
    "The stationary distribution $\\pi$ is unique.",
    "Here $\\pi$ is the mixing weight of the first component.",
    "A policy $\\pi(a \\mid s)$ gives actions.",
    "Actions are drawn as $a \\sim \\pi$.",
    "Its value is $V^\\pi(s)$.",
    "Let the prior be $\\pi_1$, and $\\pi^*$ the best one.",
    "We average with $\\mathbb{E}_\\pi$.",
]


@pytest.mark.parametrize("above", USES)
@pytest.mark.parametrize("as_read", [False, True])
def test_the_number_refutes_and_proves_nothing(above: str, as_read: bool) -> None:
    for formula in (r"\pi \le 1", r"\pi > 1", r"\pi (1 - \pi) \ge 0", r"1 - 2 \pi < 0"):
        step = check(formula, above, as_read=as_read)
        assert step.verdict is Verdict.UNDECIDED, step.evidence.text
    assert r"declare it, as in 'Let $\pi" in step.evidence.text


@pytest.mark.parametrize("above", USES)
def test_what_holds_of_any_number_is_accepted(above: str) -> None:
    step = check(r"\pi (1 - \pi) + \pi^2 = \pi", above)
    assert step.verdict is Verdict.PROVED and r"whatever number $\pi$ is" in step.evidence.text


def test_a_formula_below_counts_and_readings_are_kept() -> None:
    assert check(r"\pi \le 1", below="$$ \\sum_a \\pi(a \\mid s) = 1 $$").verdict is Verdict.UNDECIDED
    step = check(r"\pi a + \pi b = \pi (b + a)", USES[0])
    assert step.verdict is Verdict.PROVED and r"read as: " in step.evidence.text


def test_shapes_that_do_not_fit_are_those_of_something_else() -> None:
    step = check(r"\pi P = \pi", "Let $P \\in \\mathbb{R}^{n \\times n}$ have the stationary distribution $\\pi$.")
    assert step.verdict is Verdict.UNDECIDED and r"may say that $\pi$ is something else" in step.evidence.text


@pytest.mark.parametrize(
    ("formula", "above", "verdict"),
    [
        (r"\pi > 3", "The area of a circle.", Verdict.EXACT),
        (r"\pi \le 1", "A rotation by $\\pi$ is $R_\\pi$, and one by $\\pi/4$ is $A^{\\pi/4}$.", Verdict.REFUTED),
        (r"\log(2 \pi) > 1", USES[0], Verdict.EXACT),  # of a normal density
        (r"\log \pi > 1", USES[0], Verdict.UNDECIDED),  # without a number in front of it
        ("2 > 3", USES[0], Verdict.REFUTED),  # it has none
        (r"\pi \le 1", "Let $\\pi \\in (0, 1)$ be the probability $\\pi$.", Verdict.AGREES),
        (r"\pi_1 + \pi_2 = \pi_2 + \pi_1", USES[0], Verdict.PROVED),
    ],
)
def test_elsewhere_it_is_the_number(formula: str, above: str, verdict: Verdict) -> None:
    assert check(formula, above).verdict is verdict


def test_what_is_expected_to_be_refuted_is() -> None:
    text = f"{USES[0]}\n\n% expect: refuted\n$$ \\pi \\le 1 $$\n"
    assert check_document(text).steps[-1].verdict is Verdict.REFUTED
