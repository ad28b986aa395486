"""Readings that are confirmed: what is false as it was read is refuted, and what no declaration says stays open."""

from __future__ import annotations

from dataclasses import replace

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.inference.confirmed import confirm_readings, confirmed_readings
from attention_core.derivation.reading.step import Step
from attention_core.derivation.reading.steps import steps_of
from attention_core.derivation.records import GOOD, Verdict

WORDS = "Here we only look at a special case, where everything is frobnicated and the first of them is the last."
"""What may restrict anything: beside it no wrong index is refuted as the document stands."""


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (
            r"\sum_{i=1}^n x_i y_i + A = A + \sum_{i=1}^n y_i x_i",
            r"\sum_{i=1}^n x_i y_i + A = A + \sum_{i=1}^n y_i x_1",
        ),
        (r"(A B)^\top = B^\top A^\top", r"(A B)^\top = A^\top B^\top"),
        (r"(a + b)^2 = a^2 + 2 a b + b^2", r"(a + b)^2 = a^2 + 2 a b + b^3"),
        (r"x^\top A^\top y = y^\top A x", r"x^\top A^\top y = x^\top A y"),
    ],
)
def test_what_is_false_as_it_was_read_is_refuted(right: str, wrong: str) -> None:
    document = f"{WORDS}\n\n$$ {right} $$\n\n$$ {wrong} $$\n"
    plain = check_document(document, infer=True).steps
    assert plain[0].verdict in GOOD and plain[1].verdict is not Verdict.REFUTED
    good, bad = check_document(document, as_read=True).steps
    assert good.verdict in GOOD and bad.verdict is Verdict.REFUTED
    for one in (good, bad):
        assert one.evidence.figures["confirmed"] and "taken as declared" in one.evidence.text


def test_values_of_functions_that_nothing_defines_are_not_confirmed() -> None:
    (step,) = check_document("$$ 2 g(x) + h(x) = g(x) + 3 h(x) $$\n", as_read=True).steps
    assert step.verdict is Verdict.UNDECIDED and "define the functions" in step.evidence.text


def test_what_was_read_loosely_or_in_another_way_than_its_section_is_not_confirmed() -> None:
    (step,) = steps_of("$$ u + v = v + u $$\n", infer=True)[0]
    assert isinstance(step, Step)
    loose = step.context.copy()
    loose.loose = frozenset(["terms"])
    for one in (replace(step, context=loose), replace(step, strange="u is a matrix in line 1")):
        assert confirm_readings(one) is one


def test_what_is_declared_needs_no_confirmation() -> None:
    text = "Let $x \\in \\mathbb{R}$.\n\n$$ x + 1 = 1 + x $$\n"
    (step,) = check_document(text, as_read=True).steps
    assert step.passed and "read_as" not in step.evidence.figures
    (step,) = steps_of("$$ u + v = v + u $$\n", infer=True)[0]
    assert isinstance(step, Step) and confirmed_readings(step) == []
    confirmed = confirm_readings(step)
    assert isinstance(confirmed, Step) and len(confirmed_readings(confirmed)) == 2 and not confirmed.context.inferred
    assert step.context.inferred  # the step itself stays as it was
