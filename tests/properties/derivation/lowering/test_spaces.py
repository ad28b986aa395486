"""Nonlinear conditions among sizes.

Conditions among sizes with powers, roots and logarithms: the sizes that meet them are found and tried.
Every right statement stands beside a wrong one, with the size at which it is refuted.
"""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.records import StepReport

GOOD = {"PROVED", "EXACT", "AGREES"}
PATIENT = Effort(seconds=60.0)
N = r"Let $n \in \mathbb{N}$"
NM = r"Let $n, m \in \mathbb{N}$, $x \in \mathbb{R}$"


def checked(declared: str, formula: str) -> StepReport:
    (step,) = check_document(f"{declared}.\n\n$$ {formula} $$\n", effort=PATIENT).steps
    return step


CASES = [
    (N, r"n^2 = 49 \implies n = 7", r"n^2 = 49 \implies n = 8", {"n": 7}),
    (rf"{N} with $n \ge 10^7$", r"n^2 \ge 10^{14}", r"n^2 > 10^{14}", {"n": 10**7}),
    (rf"{N} with $\log n \ge 4$", r"n \ge 55", r"n \ge 56", {"n": 55}),
    (rf"{NM} with $n = m^2$", r"\sqrt{n} x = m x", r"n x = m x", {"n": 4, "m": 2}),
    (rf"{NM} with $n = m^2$", r"n \ge m", r"n \le 3 m", {"n": 16, "m": 4}),
    (rf"{NM} with $n = 2^m$", r"n \ge 2 m", r"n \le 4 m", {"n": 32, "m": 5}),
    (rf"{NM} with $2^m = n$", r"n \ge m^2 - 1", r"n \le 4 m^2", {"n": 512, "m": 9}),
    (rf"{NM} with $m = \lfloor n / 2 \rfloor$", r"2 m x^2 \le n x^2", r"3 m \le n", {"n": 2, "m": 1}),
    (NM, r"n m = 12 \implies n \le 12", r"n m = 12 \implies n \ne 6", {"n": 6, "m": 2}),
    (r"Let $n, m, k \in \mathbb{N}$ with $n^2 + m^2 = k^2$", r"n + m > k", r"n + m \le k + 2", {"n": 6, "m": 8, "k": 10}),
]  # fmt: skip


@pytest.mark.usefixtures("searched")
@pytest.mark.parametrize(("declared", "right", "wrong", "sizes"), CASES)
def test_the_sizes_that_meet_a_condition_are_tried(
    declared: str, right: str, wrong: str, sizes: dict[str, int]
) -> None:
    step = checked(declared, right)
    assert step.verdict in GOOD, step.evidence.text
    step = checked(declared, wrong)
    assert step.verdict == "REFUTED" and step.counterexample is not None, step.evidence.text
    if len(sizes) < 3:
        assert {n: step.counterexample.values.get(n) for n in sizes} == sizes
