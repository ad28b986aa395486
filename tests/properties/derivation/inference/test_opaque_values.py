"""Values that nothing in a document determines are symbols of their own, and not decided by what they look like."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document


@pytest.mark.parametrize(
    ("formula", "verdicts"),
    [
        (r"2 \max_{\pi} \mathbb{E}[\pi] = \max_\pi \mathbb{E}[\pi] + \max_\pi \mathbb{E}[\pi]", ["PROVED"]),
        (r"2 \max_{\pi} \mathbb{E}[\pi] = 2 \max_\rho \mathbb{E}[\rho]", ["UNDECIDED"]),
        (r"2 \max_{\pi} J(\pi) = 2 \max_\rho J(\rho)", ["EXACT"]),
        (r"2 \|x\|_p = 2 \|x\|_q", ["UNDECIDED"]),
        (r"P(A \cup B) + c = c + P(A) + P(B) - P(A \cap B)", ["UNDECIDED"]),
        (r"\prod_{i=1}^n p(x_i \mid x_{<i}) = \prod_{j=1}^n p(x_j \mid x_{<j})", ["EXACT"]),
        (r"\prod_{i=1}^n p(x_{<i}) = p(x_{<1})^n", ["UNDECIDED"]),
    ],
)
def test_values_are_symbols(formula: str, verdicts: list[str]) -> None:
    found = check_document(f"$$ {formula} $$\n", infer=True).steps
    assert [str(one.verdict) for one in found] == verdicts, found[0].evidence.text
