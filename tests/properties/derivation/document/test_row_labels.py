"""Labels in front of the rows of a display are not factors."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.document.row_labels import without_row_labels
from attention_core.derivation.records import Verdict


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (r"1 \quad &", r"2 \quad &"),
        (r"(1) \quad &", r"(2) \quad &"),
        ("(i) &&", "(ii) &&"),
        ("1. &&", "2. &&"),
        ("(a) & &", "(b) & &"),
    ],
)
def test_a_label_is_not_a_factor(first: str, second: str) -> None:
    rows = rf"{first} a + b &= b + a \\ {second} a - b &= %s"
    for side, verdict in (("-(b - a)", Verdict.PROVED), ("2 a - 2 b", Verdict.UNDECIDED)):
        text = f"$$\n\\begin{{aligned}}\n{rows % side}\n\\end{{aligned}}\n$$\n"
        steps = check_document(text, infer=True).steps
        assert [step.verdict for step in steps] == [Verdict.PROVED, verdict]


@pytest.mark.parametrize(
    "text",
    [
        r"2 & (a + b) = 2 a + 2 b",  # one number alone may be a factor
        r"2 & x = 4 \\ 3 & x = 6",
        r"(1) & = a \\ (2) & = b",  # it is the side itself
        r"(x) & y = x y",
        r"(1) & a \\ (2) & b",
    ],
)
def test_what_is_not_a_label_stays(text: str) -> None:
    assert without_row_labels(text) == text
