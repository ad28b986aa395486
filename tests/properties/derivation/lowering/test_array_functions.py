"""Factorials, binomials, Kronecker products and vec of numbers, through documents, beside Python's own."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_core.derivation import check_document
from attention_core.derivation.records import GOOD, Verdict


def verdict(step: str, above: str = "") -> Verdict:
    return check_document(f"{above}\n\n$$ {step} $$\n").steps[-1].verdict


@settings(max_examples=25)
@given(st.integers(0, 60), st.integers(0, 60))
def test_factorials_and_binomials_are_exact(n: int, k: int) -> None:
    assert verdict(f"{n}! = {math.factorial(n)}") in GOOD
    assert verdict(f"{n}! = {math.factorial(n) + 1}") is Verdict.REFUTED
    if k <= n:
        assert verdict(rf"\binom{{{n}}}{{{k}}} = {math.comb(n, k)}") in GOOD
        assert verdict(rf"\binom{{{n}}}{{{k}}} = {math.comb(n, k) + 1}") is Verdict.REFUTED


SQUARES = r"Let $A, B \in \mathbb{R}^{2 \times 2}$, where $\otimes$ denotes the Kronecker product."


@pytest.mark.parametrize(
    ("step", "right"),
    [
        (r"(A \otimes B)_{1 2} = A_{1 1} B_{1 2}", True),
        (r"(A \otimes B)_{1 3} = A_{1 2} B_{1 1}", True),
        (r"(A \otimes B)_{1 3} = A_{1 1} B_{1 2}", False),
        (r"\operatorname{vec}(A)_2 = A_{2 1}", True),
        (r"\operatorname{vec}(A)_2 = A_{2 2}", False),
    ],
)
def test_entries_lie_where_they_belong(step: str, right: bool) -> None:
    found = verdict(step, SQUARES)
    assert (found in GOOD) if right else found is Verdict.REFUTED, found
