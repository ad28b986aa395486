"""What a document says of a symbol counts against another reading of it: then nothing is accepted."""

from __future__ import annotations

import pytest

from attention_core.derivation import StepReport, check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.records import GOOD, Verdict


def last(words: str, display: str) -> StepReport:
    return check_document(f"{words}\n\n$$ {display} $$\n", effort=Effort(seconds=2), infer=True).steps[-1]


@pytest.mark.parametrize(
    ("words", "display"),
    [
        ("# Products of matrices a and b", "a b = b a"),
        ("Here a star is convolution with a shift, which does not commute.", "a * b = b * a"),
        ("The amplitudes $z$ are complex.", "|z|^2 = z^2"),
        ("- $g$, $h$: rotations of space.", "g h = h g"),
        ("| symbol | meaning |\n|---|---|\n| a | a square matrix |", "a b = b a"),
        ("# The noncommuting case", "p q = q p"),
        ("The score $s$ may be infinite.", "s - s = 0"),
    ],
)
def test_a_symbol_that_is_called_something_else_makes_no_step_hold(words: str, display: str) -> None:
    step = last(words, display)
    assert step.verdict is Verdict.UNDECIDED and "as it was read it holds, but line" in step.evidence.text


@pytest.mark.parametrize(
    ("words", "display"),
    [
        ("The matrix $A$ has the eigenvalue $\\lambda$.", "\\lambda A = A \\lambda"),
        ("# Numbers", "a b = b a"),
        ("The set of all products is large, and $a$ is a number.", "a b = b a"),
    ],
)
def test_other_words_leave_a_reading_as_it_is(words: str, display: str) -> None:
    assert last(words, display).verdict in GOOD
