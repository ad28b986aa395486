"""Derivatives and averages of symbols of which nothing says how they depend on one another."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (r"$$ \frac{\partial L}{\partial x} = 2 \frac{\partial L}{\partial y} \frac{\partial y}{\partial x} $$", "UNDECIDED"),
        (r"$$ \frac{\partial}{\partial x} (a x^2 + b) = 2 a x $$", "PROVED"),
        ("$$ L = a x^2 $$\n\nThen\n\n" + r"$$ \frac{\partial L}{\partial x} = 2 a x $$", "PROVED"),
        (r"$$ \mathbb{E}[x + y] = \mathbb{E}[x] + \mathbb{E}[y] $$", "UNDECIDED"),
    ],
)  # fmt: skip
def test_what_depends_on_what_is_not_invented(text: str, verdict: str) -> None:
    step = check_document(f"{text}\n", effort=Effort(seconds=2), infer=True).steps[0]
    assert step.verdict == verdict, step.evidence.text
