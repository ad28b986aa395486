"""What a step that rests on readings lacks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from attention_core.derivation.check import document_steps
from attention_core.derivation.decision.missing_declarations import ask_for_declarations
from attention_core.derivation.reading.step import Step

STEP = "# Two\n\n$$ y + x = x + 2 y $$\n"


def ask(text: str, as_read: bool = False) -> str:
    step = document_steps(text, infer=True, as_read=as_read)[1][-1]
    assert isinstance(step, Step)
    return ask_for_declarations(step, list(step.context.inferred))


@pytest.mark.parametrize(
    ("above", "starts", "ends"),
    [
        ("# One\n\n$$ x + 1 = 2 $$\n\n", "declare its symbols for a verdict", "takes these readings for declared)"),
        ("", "declare its symbols for a verdict", "takes these readings for declared)"),
    ],
)
def test_only_what_was_declared_has_ended(above: str, starts: str, ends: str) -> None:
    words = ask(above + STEP)
    assert words.startswith(starts) and words.endswith(ends), words


def test_functions_are_defined_and_confirmed_readings_not_proposed() -> None:
    assert ask("$$ g(x) = 2 g(x) + h(x) $$\n").startswith("define the functions whose values were read as symbols")
    assert "--as-read" not in ask(STEP, as_read=True)


def test_readings_that_do_not_fit_their_section_are_not_proposed() -> None:
    step = document_steps(STEP, infer=True)[1][-1]
    assert isinstance(step, Step)
    names = list(step.context.inferred)
    assert "--as-read" in ask_for_declarations(step, names)
    assert "--as-read" not in ask_for_declarations(replace(step, strange="its shapes do not fit"), names)
