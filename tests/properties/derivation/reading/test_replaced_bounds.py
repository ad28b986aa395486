"""A symbol that is declared once more below a display: no step rests on its first bound alone."""

from __future__ import annotations

import pytest

from attention_core.derivation.check import check_document
from attention_core.derivation.records import GOOD, Verdict

FIRST = "Let $x > 1$. Then\n\n$$x^2 > x$$\n\n"
STEP = " Then\n\n$$x^2 > x$$\n\n"


def verdicts(text: str) -> list[Verdict]:
    """The verdicts of the steps of a document."""
    return [one.verdict for one in check_document(text, infer=True).steps]


@pytest.mark.parametrize(
    "text",
    [
        f"{FIRST}Let $x > 0$.{STEP}",
        f"{FIRST}For all $x > 0$, we have\n\n$$x^2 > x$$\n\n",
        f"{FIRST}Let $0 < x < 3$.{STEP}",
        f"{FIRST}Now let $x \\ne 0$.{STEP}",
        f"{FIRST}Now we assume just $x \\ne 0$.{STEP}",
        f"{FIRST}We assume only that $x > 0$.{STEP}",
        "Let $x > 1$. Then $$x^2 > x$$ Let $x > 0$. Then $$x^2 > x$$",
    ],
)
def test_the_first_bound_may_be_replaced(text: str) -> None:
    first, second = verdicts(text)
    assert first in GOOD
    assert second is Verdict.UNDECIDED


@pytest.mark.parametrize(
    "text",
    [
        f"{FIRST}Let $x > 1$.{STEP}",
        f"{FIRST}Let $x > 3$.{STEP}",
        f"{FIRST}Let also $x < 3$.{STEP}",
        f"{FIRST}Let $y > 0$.{STEP}",
        f"{FIRST}Let $y > x$.{STEP}",
        f"{FIRST}Let $y_x > 0$.{STEP}",
        f"Let $x > 1$. Let $x < 3$.{STEP}We have\n\n$$x^2 - x > 0$$\n\n",
    ],
)
def test_what_holds_by_the_new_bound_is_accepted(text: str) -> None:
    first, second = verdicts(text)
    assert {first, second} <= set(GOOD)
