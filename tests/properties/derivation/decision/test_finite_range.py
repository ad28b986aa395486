r"""Claims about finitely many sizes and indices are decided at each of them."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import Verdict

SIZES = r"Let $n \in \mathbb{N}$ with $n \le 100$."
INDEX = r"Let $m \in \{1, \dots, 100\}$."


def verdict_of(head: str, step: str) -> Verdict:
    return check_document(f"{head}\n\n$$ {step} $$\n").steps[-1].verdict


@pytest.mark.parametrize(
    ("head", "step"),
    [
        (SIZES, r"\binom{10^9}{60} > n"),
        (SIZES, r"\sum_{k=1}^n k \le 5050"),
        (INDEX, r"\sin(m) < 0.99999"),
        (INDEX, r"m^2 + m \le 10100"),
    ],
)
def test_what_holds_at_every_value_is_exact(head: str, step: str) -> None:
    found = check_document(f"{head}\n\n$$ {step} $$\n").steps[-1]
    assert found.verdict is Verdict.EXACT and found.evidence.figures["values"] == 100


@pytest.mark.usefixtures("searched")
@pytest.mark.parametrize(
    ("head", "step"), [(SIZES, r"\sum_{k=1}^n k \le 5049"), (INDEX, r"2^m < 2^{100}"), (INDEX, r"(m - 97)^2 > 0")]
)
def test_what_fails_at_one_value_is_refuted(head: str, step: str) -> None:
    assert verdict_of(head, step) is Verdict.REFUTED


@pytest.mark.parametrize(
    ("head", "step"),
    [(r"Let $k \in \{1, \dots, 100000\}$.", r"\sin(k) < 1"), (r"Let $n \in \mathbb{N}$.", r"\binom{2 n}{n} > n")],
    ids=["too many values", "no end"],
)
def test_what_was_tried_at_some_values_alone_agrees(head: str, step: str) -> None:
    assert verdict_of(head, step) is Verdict.AGREES
