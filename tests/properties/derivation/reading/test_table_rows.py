"""Rows of tables may state hypotheses: a step that holds under one is not refuted, whatever a document promises."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.document.blocks import Paragraph
from attention_core.derivation.reading.table_rows import relations_in_rows

HEAD = "| name | value |\n|---|---|\n"
PROMISE = "All hypotheses are declared as formulas.\n\nLet $x, y \\in \\mathbb{R}$.\n\n"
DISPLAY = "$$ |x| = x $$"


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (f"{HEAD}| $x$ | $y^2$ |", "x = y^2"),
        (f"{HEAD}| x | \u2265 0 |", r"x \ge  0"),
        ("| $x$ | $y$ |\n|---|---|\n| 1 | 2 |", "x = 1"),
        ("<table><tr><td>$x$</td>\n<td>$y^2$</td></tr></table>", "x = y^2"),
        ("- $x$: $y^2$\n- $y$: $2$", "x = y^2"),
    ],
)
def test_a_step_that_holds_under_a_row_is_undecided_and_the_row_is_quoted(table: str, said: str) -> None:
    for document in (f"{PROMISE}{table}\n\n{DISPLAY}\n", f"{PROMISE}{DISPLAY}\n\n{table}\n"):
        (step,) = check_document(document).steps
        assert step.verdict == "UNDECIDED" and f"${said}$ (line" in step.evidence.text, step.evidence.text


@pytest.mark.parametrize(
    "table",
    [f"{HEAD}| $y$ | $x^2$ |", "| name | shape |\n|---|---|\n| $x$ | $1 \\times 1$ |", f"{HEAD}| $x$ | the input |"],
)
def test_a_row_under_which_a_step_stays_false_changes_nothing(table: str) -> None:
    (step,) = check_document(f"{PROMISE}{table}\n\n{DISPLAY}\n").steps
    assert step.verdict == "REFUTED", step.evidence.text


def test_columns_of_measurements_state_nothing() -> None:
    assert relations_in_rows(Paragraph(1, "| n | time |\n|---|---|\n| 64 | 3.2 ms |\n| 128 | 6.1 ms |")) == []
