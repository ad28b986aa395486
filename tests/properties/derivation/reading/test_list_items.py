"""What an item of a list supposes ends with it, where the next item of the list is another case."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.document.blocks import Paragraph
from attention_core.derivation.reading.list_items import ListItems, split_items
from attention_core.derivation.terms.context import Context

GOOD = ("PROVED", "EXACT", "AGREES")
REALS = r"Let $a, b \in \mathbb{R}$. Let $A \in \mathbb{R}^{n \times n}$."
DOUBLE, OWN = "$$ a + b = 2 a $$", "$$ a^2 = a |a| $$"
MARKS = [("1.", "2."), ("-", "-"), ("*", "*"), ("**1.**", "**2.**")]


def verdicts(*lines: str) -> list[str]:
    text = "\n".join([REALS, "", *lines]) + "\n"
    return [str(one.verdict) for one in check_document(text, infer=True).steps]


@pytest.mark.parametrize(("first", "second"), MARKS)
@pytest.mark.parametrize("opens", ["Suppose $b = a$. Then", "Assume $b = a$. We have"])
@pytest.mark.parametrize("words", ["We have", "Suppose $a > 0$. Then", "If $a > 0$, then", "For $a > 0$:"])
def test_what_an_item_supposes_ends_with_it(first: str, second: str, opens: str, words: str) -> None:
    found = verdicts(f"{first} {opens}", DOUBLE, f"{second} {words}", DOUBLE)
    assert found[0] in GOOD and found[1] == "UNDECIDED"


@pytest.mark.parametrize("words", ["Suppose $a > 0$. Then", "If $a > 0$, then", "Suppose $a \\ge 0$. Hence"])
def test_the_next_item_has_what_it_supposes_itself(words: str) -> None:
    found = verdicts("1. Suppose $b = a$. Then", DOUBLE, f"2. {words}", OWN)
    assert all(one in GOOD for one in found), found


@pytest.mark.parametrize(
    "words", ["Hence", "Then", "Now we get", "It follows that", "Suppose further $a > 0$. Then", "Also assume $a > 0$."]
)
def test_an_item_that_points_back_goes_on(words: str) -> None:
    assert all(one in GOOD for one in verdicts("1. Suppose $b = a$. Then", DOUBLE, f"2. {words}", DOUBLE))


def test_the_case_lasts_through_items_that_go_on_with_it() -> None:
    found = verdicts("1. Suppose $b = a$. Then", DOUBLE, "2. Hence", DOUBLE, "3. If $a > 0$, then", DOUBLE)
    assert found[1] in GOOD and found[2] == "UNDECIDED"


def test_a_condition_of_one_item_does_not_reach_the_next() -> None:
    found = verdicts("- If $b = a$, then", DOUBLE, "- We have", DOUBLE)
    assert found[0] in GOOD and found[1] == "UNDECIDED"


def test_a_list_of_assumptions_lasts() -> None:
    found = verdicts("1. Suppose $b = a$.", "2. Suppose $a > 0$.", "", "The sum is", DOUBLE)
    assert all(one in GOOD for one in found)


def test_items_of_one_paragraph_are_cases_too() -> None:
    lines = ("1. Suppose $b = a$. Then $a + b = 2 a$.", "2. If $a > 0$, then")
    assert verdicts(*lines, DOUBLE) == ["UNDECIDED"]
    assert verdicts(*lines, OWN)[0] in GOOD


def test_a_property_ends_with_its_item() -> None:
    symmetric = r"$$ A^\top = A $$"
    found = verdicts("- Suppose $A$ is symmetric. Then", symmetric, "- We have", symmetric)
    assert found[0] in GOOD and found[1] == "UNDECIDED"


def test_inner_items_belong_to_the_outer_one() -> None:
    lines = ("1. Suppose $b = a$. Then", "   - the first sum is", f"     {DOUBLE}", "   - The second sum is")
    assert all(one in GOOD for one in verdicts(*lines, f"     {DOUBLE}"))
    assert verdicts(*lines, f"     {DOUBLE}", "2. The sum is", DOUBLE)[-1] == "UNDECIDED"


def test_words_behind_a_list_of_cases_leave_the_last_case() -> None:
    cases = ("1. Suppose $a > 0$. Then", OWN, "2. Suppose $b = a$. Then", DOUBLE)
    assert verdicts(*cases, "", "The sum is", DOUBLE)[-1] == "UNDECIDED"
    assert verdicts(*cases, "", "   Its double is", "$$ 2 a + 2 b = 4 a $$")[-1] in GOOD


def test_items_of_a_paragraph() -> None:
    text = "$a\n- b$ and\n(a) Suppose\n  not\n\\item[2.] If so"
    found = list(split_items(Paragraph(3, text)))
    assert found == [(3, -1, "$a\n- b$ and"), (5, 0, "Suppose\n  not"), (7, 0, "If so")]


def test_which_items_take_back_what() -> None:
    context, items = Context(), ListItems()
    items.enter(context, Paragraph(1, "1. Suppose $a = b$. Then $b = a$.\n2. If $a > b$, then no.\n3. Else"), 0)
    assert [(one.line, one.since, one.ends) for one in context.caveats] == [(2, 1, 1), (3, 1, 2)]
