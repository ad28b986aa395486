"""A list of values is not a value."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import Verdict


@pytest.mark.parametrize("values", ["0,1", "0, 1", "-1, 1", "1, 2, 3"])
def test_a_symbol_with_a_list_of_values_has_none_of_them(values: str) -> None:
    first = values.split(",")[0]
    text = f"Put $b = {values}$.\n\n$$ b y + x = {first} y + x $$\n"
    report = check_document(text, infer=True)
    assert report.steps[-1].verdict not in (Verdict.PROVED, Verdict.EXACT, Verdict.AGREES)
    one = check_document(text.replace(values, first, 1), infer=True)
    assert one.steps[-1].verdict is Verdict.PROVED


def test_two_definitions_are_not_a_list() -> None:
    (step,) = check_document("Put $b = 2, c = 1$.\n\n$$ b + c = 3 $$\n", infer=True).steps
    assert step.verdict is Verdict.PROVED
