"""The record of declarations: what a name depends on, and names that define each other."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document


@pytest.mark.parametrize(
    ("declared", "verdict"),
    [
        ("Let $d = 4 - x$ and $x = 4 - d$.", "PROVED"),  # the second says nothing new, and defines nothing
        ("Let $d = 4 - x$ and $x = 5 - d$.", "PROVED"),  # by the first alone
        ("Let $d = 4 - x$, $c = d + 1$ and $x = 5 - c$.", "PROVED"),
        ("Let $x \\in \\mathbb{R}$, $d = 4 - x$ and $d = 4 - x$.", "PROVED"),
    ],
)
def test_names_that_define_each_other_are_no_definitions(declared: str, verdict: str) -> None:
    (step,) = check_document(f"{declared}\n\n$$ y + x = y + 4 - d $$\n", infer=True).steps
    assert step.verdict == verdict and "internal error" not in step.evidence.text, step.evidence.text
