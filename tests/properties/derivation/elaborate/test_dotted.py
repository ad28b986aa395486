r"""Dots between numbers: read where the numbers can only go up by one, else UNREADABLE."""

from __future__ import annotations

import pytest

from attention_core.derivation.check import check_document
from attention_core.derivation.effort import Effort

LIGHT = Effort(small=2, tuples=1, large=1, altered=4, climb=1, total=20)


def verdict(formula: str, declared: str = r"Let $n \in \mathbb{N}$ and $x \in \mathbb{R}$.") -> str:
    step = check_document(f"{declared}\n\n$$ {formula} $$\n", effort=LIGHT).steps[-1]
    return f"{step.verdict}"


@pytest.mark.parametrize(
    "formula",
    [
        r"1 + 3 + \dots + (2 n - 1) = n^2", r"1 + 3 + 5 + \dots + (2 n - 1) = n^2", r"2 + 4 + \dots + 2 n = n (n + 1)",
        r"3 + 6 + \dots + 3 n = \frac{3 n (n + 1)}{2}", r"1 - 2 + 3 - 4 + \dots - 2 n = -n", r"2 + \dots + 2 n = n (n + 1)",
        r"1 + 2 + \dots + 2^n = 2^{n + 1} - 1", r"x^2 + x^4 + \dots + x^{2 n} = x^{2 n} + \dots + x^4 + x^2",
        r"1 + 3 + \dots + (2 n - 1) = n (2 n - 1) - 2", r"2 + 4 + \dots + 2 n = n (2 n + 1) - 4",
    ],
)  # fmt: skip
def test_other_steps_than_one_are_not_read_as_one(formula: str) -> None:
    assert verdict(formula) == "UNREADABLE"


@pytest.mark.parametrize(
    ("formula", "good"),
    [
        (r"1 + 2 + \dots + n = \frac{n (n + 1)}{2}", True), (r"1 + \dots + n = \frac{n (n + 1)}{2}", True),
        (r"1 + 2 + \dots + (n - 1) = \frac{n (n - 1)}{2}", True), (r"1 + \dots + 2 n = n (2 n + 1)", True),
        (r"1 + 2 + \dots + n = \frac{n (n - 1)}{2}", False),
        (r"(1 - x)(1 + x + x^2 + \dots + x^n) = 1 - x^{n + 1}", True),
    ],
)  # fmt: skip
def test_steps_of_one_are_read(formula: str, good: bool) -> None:
    assert verdict(formula) in (("PROVED", "EXACT", "AGREES") if good else ("REFUTED",))
