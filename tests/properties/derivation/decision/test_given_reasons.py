"""A reason in the display of a step, or words of symmetry beside it, leave open what they may make good."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import Verdict

WRONG = "x_1 y + x_2 y + z = x_1 y + x_1 y + z"


def verdict(text: str, as_read: bool = True) -> Verdict:
    return check_document(text, infer=True, as_read=as_read).steps[-1].verdict


def row(reason: str, formula: str = WRONG.replace("=", "&=")) -> str:
    return f"# Notes\n\n$$\n\\begin{{aligned}}\n{formula} {reason}\n\\end{{aligned}}\n$$\n"


@pytest.mark.parametrize(
    "reason",
    [r"&& \text{(by symmetry)}", r"\quad \text{since both are quiffed}", r"\\ & \text{(since both are quiffed)}"],
)
def test_a_reason_in_a_row_is_not_set_aside(reason: str) -> None:
    assert verdict(row(reason)) is Verdict.UNDECIDED
    assert verdict(row("")) is Verdict.REFUTED


def test_a_sum_that_is_symmetric_is_not_a_slip() -> None:
    squares = r"x_1^2 + x_2^2 + 2 x_1 x_2 &= 2 x_1^2 + 2 x_1 x_2"
    assert verdict(row(r"&& \text{by symmetry}", squares), as_read=False) is Verdict.UNDECIDED
    assert verdict(row("", squares), as_read=False) is Verdict.REFUTED


def test_a_sign_beside_a_reason_stays_open_once_readings_are_confirmed() -> None:
    assert verdict(row(r"&& \text{(c is negative)}", "a (b - c) + d &= a b + a c + d")) is Verdict.UNDECIDED
    assert verdict(row("", "a (b - c) + d &= a b + a c + d")) is Verdict.REFUTED


def test_a_mark_over_a_relation_points_to_a_reason() -> None:
    marked = WRONG.replace("=", r"\stackrel{(a)}{=}")
    assert verdict(f"$$ {marked} $$\n\nwhere (a) uses that all tokens count as one.\n") is Verdict.UNDECIDED


@pytest.mark.parametrize("words", ["By symmetry,", "The two users are interchangeable.", "The draws are i.i.d., so"])
def test_words_of_symmetry_beside_a_step_leave_equal_symbols_open(words: str) -> None:
    assert verdict(f"{words}\n\n$$ {WRONG} $$\n") is Verdict.UNDECIDED
    assert verdict(f"{words}\n\n$$ x_1 y + x_2 y + z = x_1 y + 2 x_1 y + z $$\n") is Verdict.REFUTED
    assert verdict(f"{words}\n\nHere is a page.\n\n\n\n\nWe find\n\n$$ {WRONG} $$\n") is Verdict.REFUTED
