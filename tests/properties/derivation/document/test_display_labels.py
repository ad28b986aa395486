r"""Words in front of statements and behind them: labels, remarks, `(= 1)`."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.reading.step import Step
from attention_core.derivation.reading.steps import steps_of

HEAD = "Let $a, b, c, d \\in \\mathbb{R}$.\n\n"


def read(display: str) -> list[str]:
    """What becomes of a display."""
    steps, _ = steps_of(f"{HEAD}$$ {display} $$\n")
    return [s.text if isinstance(s, Step) else f"? {s.message}" for s in steps]


@pytest.mark.parametrize(
    ("display", "steps"),
    [
        (r"\text{depth}: a = b, \quad \text{width}: c = d", ["a = b", "c = d"]),
        (r"\textbf{Objective} \;&:\; a = b \\ \textbf{Then} \;&:\; c = d", ["a = b", "c = d"]),
        (r"a = b \qquad (= c)", ["a = b", "b = c"]),
        (r"a = b \quad \text{take $\log$ of both sides}", ["a = b"]),
        (r"a = b && \text{where we left off} \\ &= c && \text{divide by } d", ["a = b", "b = c"]),
    ],
)
def test_words_are_not_part_of_a_statement(display: str, steps: list[str]) -> None:
    assert read(display) == steps


@pytest.mark.parametrize(
    "display",
    [
        r"a = 2 \text{ times the sum of } c",  # no room before the words: the formula goes on
        r"a = b \quad \text{take the } c = d",
        r"a \quad \text{plus some of } c = d",
    ],
)
def test_what_may_be_part_of_a_statement_is_not_passed_over(display: str) -> None:
    assert any(one.startswith("? ") for one in read(display)), read(display)


def test_a_remark_may_restrict() -> None:
    text = f"{HEAD}$$ a b = a \\quad \\text{{taken at multiples of $c$}} $$\n"
    (step,) = check_document(text).steps
    assert step.verdict == "UNDECIDED", step.evidence.text
