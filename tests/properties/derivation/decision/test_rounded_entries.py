"""An array of rounded entries is not refuted."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import Verdict

LEFT = r"\begin{pmatrix} 0.909 \cdot 0.25 \\ 0.909 \cdot 0.375 \end{pmatrix}"


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        ("0.227", "0.341", Verdict.UNDECIDED),  # rounded
        ("0.227", "0.340", Verdict.UNDECIDED),  # cut off
        ("0.227", "0.344", Verdict.REFUTED),
        ("0.237", "0.341", Verdict.REFUTED),
    ],
)
def test_entries_that_are_off_by_less_than_the_last_place_stay_open(first: str, second: str, verdict: Verdict) -> None:
    formula = rf"{LEFT} = \begin{{pmatrix}} {first} \\ {second} \end{{pmatrix}}"
    step = check_document(f"We calculate\n\n$$ {formula} $$\n", as_read=True).steps[-1]
    assert step.verdict is verdict, step.evidence.text
