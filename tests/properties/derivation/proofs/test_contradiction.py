"""Hypotheses that cannot be met, and sides that are nowhere defined.

VACUOUS needs an argument: what a search did not find is looked for at the numbers the step names, else UNDECIDED.
Each case that can be met stands beside one that cannot.
"""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.records import StepReport

PATIENT = Effort(seconds=60.0)
N = r"Let $n \in \mathbb{N}$, $x \in \mathbb{R}$."


def checked(declared: str, formula: str) -> StepReport:
    (step,) = check_document(f"{declared}\n\n$$ {formula} $$\n", effort=PATIENT).steps
    return step


@pytest.mark.parametrize(
    ("formula", "verdict"),
    [
        (r"\log(n - 20) \le n", "AGREES"),
        (r"\sqrt{n - 10} \le n", "AGREES"),
        (r"\log(n - 5000) \ge \log 2", "REFUTED"),
        (r"\log(x - 500) < x", "AGREES"),
        (r"\sqrt{x - 1000}^2 = x - 1000", "PROVED"),
        (r"\sqrt{x - 4} \sqrt{4 - x} = 0", "AGREES"),
        (r"\sqrt{x - 10^6} \ge 1", "REFUTED"),
        (r"n^2 \ge 10000 \implies n |x| \ge 100 |x|", "AGREES"),
        (r"\frac{1}{x - x} = n", "VACUOUS"),
        (r"\log(-x^2 - 1) = n", "VACUOUS"),
        (r"\frac{1}{n - n} = 1", "UNDECIDED"),
    ],
)
def test_what_is_defined_somewhere_is_decided_there(formula: str, verdict: str) -> None:
    step = checked(N, formula)
    assert step.verdict == verdict, step.evidence.text


def test_a_contradiction_at_small_sizes_alone_is_none() -> None:
    step = checked(r"Let $n \in \mathbb{N}$ and $x \in \mathbb{R}$ with $x \ge 10 - n$ and $x \le 0$.", r"x \le n")
    assert step.verdict != "VACUOUS", step.evidence.text
    step = checked(r"Let $n \in \mathbb{N}$ and $x \in \mathbb{R}$ with $x \ge n + 1$ and $x \le 0$.", r"x \le n")
    assert step.verdict == "VACUOUS", step.evidence.text
