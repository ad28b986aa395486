"""What a step that rests on readings lacks."""

from __future__ import annotations

import pytest

from attention_core.derivation.check import check_document, document_steps
from attention_core.derivation.decision.missing_declarations import ask_for_declarations
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import Verdict

STEP = "# Two\n\n$$ y + x = x + 2 y $$\n"


def ask(text: str) -> str:
    step = document_steps(text, infer=True)[1][-1]
    assert isinstance(step, Step)
    return ask_for_declarations(step, list(step.context.inferred))


@pytest.mark.parametrize(
    ("above", "starts", "ends"),
    [
        ("# One\n\n$$ x + 1 = 2 $$\n\n", "declare its symbols for a verdict", "(--scaffold proposes how)"),
        ("", "declare its symbols for a verdict", "(--scaffold proposes how)"),
    ],
)
def test_only_what_was_declared_has_ended(above: str, starts: str, ends: str) -> None:
    words = ask(above + STEP)
    assert words.startswith(starts) and words.endswith(ends), words


def test_functions_are_defined() -> None:
    assert ask("$$ g(x) = 2 g(x) + h(x) $$\n").startswith("define the functions whose values were read as symbols")


CALCULATED = "$$ (a + b)^2 = a^2 + b^2 $$\n"


@pytest.mark.parametrize(
    ("text", "helps"),
    [
        (CALCULATED, True),
        ("The labels are alike in some towns.\n\n" + CALCULATED, True),
        (STEP, True),
        ("$$ a b - b = 0 $$\n", False),
        ("$$ y + x^2 = 2 x $$\n", False),  # it may say what y is
    ],
)
def test_confirming_readings_is_recommended_where_it_refutes(text: str, helps: bool) -> None:
    (step,) = check_document(text, infer=True).steps
    (confirmed,) = check_document(text, as_read=True).steps
    assert step.verdict is Verdict.UNDECIDED
    assert ("--as-read" in step.evidence.text) is helps is (confirmed.verdict is Verdict.REFUTED)
    assert "--as-read takes" not in confirmed.evidence.text


def test_values_that_nothing_defines_and_averages_without_a_law_are_not_false() -> None:
    values, average, plain = check_document(
        "$$ f(2) = 2 f(1) $$\n\n$$ \\mathbb{E}[x] = \\mu + 1 $$\n\n$$ a + b = 2 a + b $$\n", infer=True
    ).steps
    assert values.evidence.text.startswith("nothing here defines $f(2)$, $f(1)$, and it is not true of all values (")
    assert average.evidence.text.startswith("no law was read for what is averaged here")
    assert plain.evidence.text.startswith("as it was read it is false (")
