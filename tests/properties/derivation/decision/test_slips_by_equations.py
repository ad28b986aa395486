r"""A step that is one small change away from what the equations above it give is marked, and never refuted by that."""

from __future__ import annotations

import pytest

from attention_core.derivation import StepReport, check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.records import GOOD, Verdict

BUDGET = "The budget is\n\n$$ a + b + c = 1 $$\n\n"
LINE = "We solve\n\n$$ 2 x + 3 y = 7 $$\n\n"
SPREAD = (
    "From the definition of variance we know that\n\n$$ \\mathbb{E}_q[(z - \\mu)^2] = \\sigma^2 $$\n\n"
    "We can now plug this expression back into the bound of the KL divergence:\n\n"
)
BOUND = "\\log s - \\frac{1}{2 \\sigma^2} \\mathbb{E}_q[(z - \\mu)^2] = \\log s"


def last(text: str) -> StepReport:
    return check_document(text, effort=Effort(seconds=4), infer=True).steps[-1]


@pytest.mark.parametrize(
    ("above", "right", "false"),
    [
        (f"{BUDGET}and so\n\n", "b + c = 1 - a", "b + c = 1 + a"),
        (f"{BUDGET}Therefore\n\n", "2 b + 2 c = 2 - 2 a", "2 b + 2 c = 2 - 3 a"),
        (f"{LINE}Subtracting,\n\n", "2 x = 7 - 3 y", "2 x = 7 + 3 y"),
        (SPREAD, f"{BOUND} - \\frac{{1}}{{2}}", f"{BOUND} + \\frac{{1}}{{2}}"),
    ],
)
def test_a_slip_in_what_equations_above_give_is_marked(above: str, right: str, false: str) -> None:
    step = last(f"{above}$$ {right} $$\n")
    assert step.verdict in GOOD, step.evidence.text
    twin = last(f"{above}$$ {false} $$\n")
    assert twin.verdict is Verdict.UNDECIDED and ", by what line 3 states" in twin.likely_slip, twin.evidence.text


@pytest.mark.parametrize(
    ("above", "display"),
    [
        (BUDGET, "b + c = 1 + a"),  # a second equation
        (f"{BUDGET}and so\n\n", "a + b - c = 1"),  # the equation once more, with another sign
        (f"{BUDGET}If $a = 0$, then\n\n", "b + c = 1 + a"),
        (f"{BUDGET}and so, up to a sign,\n\n", "b + c = 1 + a"),
        ("We know\n\n$$ 2 u v = a b $$\n\n$$ 2 v = b $$\n\nso\n\n", "u = 2 a c"),
    ],
)
def test_what_may_say_something_new_is_not_marked(above: str, display: str) -> None:
    assert not last(f"{above}$$ {display} $$\n").likely_slip


@pytest.mark.parametrize("words", ["for a virtual object.", "if $c$ counts down.", "in the other case."])
def test_what_a_step_says_below_it_leaves_it_open(words: str) -> None:
    for as_read in (False, True):  # a person confirms readings, and not the equations above
        text = f"{BUDGET}so\n\n$$ b + c = 1 + a $$\n\n{words}\n"
        step = check_document(text, infer=True, as_read=as_read).steps[-1]
        assert step.verdict is Verdict.UNDECIDED


def test_a_slip_in_the_equation_above_is_not_used() -> None:
    step = last("We expand\n\n$$ (a + b)^2 = a^2 - 2 a b + b^2 $$\n\nand so\n\n$$ (a + b)^2 - a^2 = 2 a b + b^2 $$\n")
    assert step.verdict in GOOD, step.evidence.text
