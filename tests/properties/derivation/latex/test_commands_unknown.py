"""Commands that their author defined elsewhere: symbols of their own where symbols are read, refused elsewhere."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.latex.commands import unknown_command

BRIEF = Effort(seconds=0.5)


def verdicts(text: str, infer: bool = True) -> list[str]:
    """Return the verdicts of a document's steps."""
    return [str(step.verdict) for step in check_document(text, infer=infer, effort=BRIEF).steps]


@pytest.mark.parametrize(
    "formula", [r"2 \tp(x) = \tp(x) + \tp(x)", r"2 (a \bullet b) = a \bullet b + c", r"\foo{a}{b} = 2 \foo{a}{b}"]
)
def test_an_unknown_command_is_a_symbol_that_decides_nothing(formula: str) -> None:
    assert verdicts(f"# A\n\n$$ {formula} $$\n") == ["UNDECIDED"]
    assert verdicts(f"$$ {formula} $$\n", infer=False) == ["UNREADABLE"]


@pytest.mark.parametrize("formula", [r"a \not= b", r"\input{x} = 1", r"\foo{a = b} = 1", r"\def\a{b} = 1"])
def test_what_may_change_the_others_is_refused(formula: str) -> None:
    (step,) = check_document(f"# A\n\n$$ {formula} $$\n", infer=True).steps
    assert step.verdict == "UNREADABLE"


def test_the_message_names_the_command() -> None:
    (step,) = check_document("Let $x \\in \\mathbb{R}$.\n\n$$ x + \\foo = \\foo + x $$\n").steps
    assert step.evidence.text.startswith("the command \\foo is not understood")


@pytest.mark.parametrize(
    ("name", "command"),
    [
        (r"\tp", "tp"),
        (r"\tp(x)", "tp"),
        (r"\tp_{1}", "tp"),
        (r"\mu", ""),
        (r"\mat{X}", ""),
        (r"\text{loss}", ""),
        ("x", ""),
    ],
)
def test_known_commands_are_none(name: str, command: str) -> None:
    assert unknown_command(name) == command
