r"""Roles with bounds restrict nothing where the symbol has the bounds."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import Verdict


@pytest.mark.parametrize(
    ("sentence", "step", "verdict"),
    [
        (r"Let $\gamma \in (0, 1)$ be the discount factor.", r"\frac{1}{1 - \gamma} > 2", Verdict.REFUTED),
        (r"Let $T > 0$ be the temperature.", "T > 2", Verdict.REFUTED),
        (r"Let $y \in \{-1, 1\}$ be a label.", "y + 1 = 2 y^2", Verdict.REFUTED),
        (r"Let $T \le 5$ be the temperature.", "T > -2", Verdict.UNDECIDED),
        (r"Let $y \in \mathbb{R}^n$ be a label.", r"\|y\| = 1", Verdict.UNDECIDED),
    ],
)
def test_a_role_may_say_more_than_the_declaration(sentence: str, step: str, verdict: Verdict) -> None:
    assert check_document(f"{sentence}\n\nHence\n\n$$ {step} $$\n", infer=True).steps[-1].verdict is verdict
