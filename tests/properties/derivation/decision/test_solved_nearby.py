"""Equations whose solution stands below them are not refuted; a value at which they do not hold is no solution."""

from __future__ import annotations

import pytest

from attention_core.derivation.check import check_document

ROWS = r"""For the intersection of the line and the plane, we have

$$\begin{aligned}
2(1 + t) - (1 + 2t) + (-1 - t) &= 1 \\
t &= %s
\end{aligned}$$
"""


@pytest.mark.parametrize("how", [{"infer": True}, {"as_read": True}])
def test_an_equation_that_is_solved_below_is_not_refuted(how: dict[str, bool]) -> None:
    found = check_document(ROWS % "-1", **how).steps[0]
    assert str(found.verdict) == "UNDECIDED" and not found.likely_slip


def test_the_report_says_what_it_may_be() -> None:
    found = check_document("Let $t \\in \\mathbb{R}$.\n\n" + ROWS % "-1").steps[0]
    assert str(found.verdict) == "UNDECIDED" and "an equation to be solved" in found.evidence.text


def test_a_value_at_which_an_equation_is_false_does_not_solve_it() -> None:
    assert str(check_document(ROWS % "-3", infer=True).steps[0].verdict) == "REFUTED"


def test_values_of_other_symbols_and_far_below_do_not_count() -> None:
    other = (ROWS % "-1").replace("t &= -1", "s &= -1")
    far = (ROWS % "-1").replace("\\\\\nt &= -1", "") + "\n".join(
        ["", *["One more line of words."] * 9, "", "$$ t = -1 $$", ""]
    )
    assert [str(check_document(one, infer=True).steps[0].verdict) for one in (other, far)] == ["REFUTED", "REFUTED"]


RUN = r"""We use figure 4.
$$ \begin{bmatrix} x_1 & x_2 \end{bmatrix} \begin{bmatrix} -1 \\ -1 \end{bmatrix} - 1 = \begin{bmatrix} x_1 & x_2 \end{bmatrix} \begin{bmatrix} 1 \\ 1 \end{bmatrix} - 1 $$
%s
$$ 2 \begin{bmatrix} x_1 & x_2 \end{bmatrix} = 0 $$
$$ x_1 + x_2 = 0 $$
"""


@pytest.mark.parametrize(("between", "marked"), [("", False), ("All of them are frobnicated here.", True)])
def test_an_equation_that_is_transformed_without_a_word_is_to_be_solved(between: str, marked: bool) -> None:
    found = check_document(RUN % between, infer=True).steps[0]
    assert str(found.verdict) == "UNDECIDED" and bool(found.likely_slip) is marked


@pytest.mark.parametrize(("below", "verdict"), [("3 a b = 0", "UNDECIDED"), ("3 a b = 5", "REFUTED")])
def test_only_an_equation_under_which_it_holds_solves_it(below: str, verdict: str) -> None:
    text = f"We use figure 4.\n\n$$ (a - b)^2 = a^2 - a b + b^2 $$\n$$ {below} $$\n"
    assert str(check_document(text, infer=True).steps[0].verdict) == verdict


@pytest.mark.parametrize(
    ("title", "verdict"),
    [
        ("Find the equation of the boundary", "UNDECIDED"),
        ("The boundary", "REFUTED"),
        ("Finding good words", "REFUTED"),
    ],
)
def test_in_a_section_that_finds_an_equation_it_is_to_be_solved(title: str, verdict: str) -> None:
    text = f"# {title}\n\nWe use figure 4.\n\nIt shows both.\n\nSome words.\n\nMore words.\n\n$$ (a - b)^2 = a^2 - a b + b^2 $$\n"
    assert str(check_document(text, infer=True).steps[0].verdict) == verdict
