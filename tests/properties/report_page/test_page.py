"""The page opens with the verdict, explains the words of its parts, and runs no script but its own."""

from __future__ import annotations

import re

import pytest
from markupsafe import Markup

from attention_core.report_page.page import LEGEND, SCRIPT, headline, to_page
from attention_core.report_page.parts import KINDS
from attention_core.report_page.sections import Section

EVIL = "<script>alert(1)</script>\"'&"


def section(state: str, kind: str = "verify") -> Section:
    return Section(EVIL, EVIL, EVIL, state, EVIL, Markup("<p>body</p>"), kind)


@pytest.mark.parametrize(
    "states, words",
    [(["good", "bad"], "something is wrong in 1 of 2 parts"), (["bad", "bad", "open"], "something is wrong in 2 of 3 parts"),
     (["good", "open"], "nothing is wrong, but 1 of 2 parts is not known"), (["good", "plain"], "nothing is wrong<")],
)  # fmt: skip
def test_the_page_opens_with_the_verdict(states: list[str], words: str) -> None:
    page = to_page([section(state) for state in states], EVIL)
    assert words in page and page.index(words) < page.index("<table>") < page.index("<section")
    assert page.count("<script") == 1 and f"<script>{SCRIPT}</script>" in page


def test_the_words_of_the_parts_are_explained_and_no_others() -> None:
    page = to_page([section("good", "derive")])
    assert "VACUOUS" in page and "let through" not in page and set(LEGEND) == set(KINDS)


def test_the_headline_of_one_part() -> None:
    assert headline(1, 1, 0) == "something is wrong in 1 of 1 part" and headline(1, 0, 0) == "nothing is wrong"


def test_parts_of_one_question_are_named_by_their_files_too() -> None:
    """A screen reader lists sections by name: two of the same name could not be told apart."""
    page = to_page([section("bad"), section("bad")])
    names = re.findall(r'<section id="part-\d" aria-labelledby="(head-\d) (file-\d)"', page)
    assert names == [("head-1", "file-1"), ("head-2", "file-2")]
    assert all(page.count(f'id="{name}"') == 1 for pair in names for name in pair)


def test_what_is_bad_comes_first_and_anchors_stay() -> None:
    page = to_page([section(state) for state in ("good", "plain", "bad", "open", "bad")])
    assert re.findall(r'<section id="part-(\d)"', page) == ["3", "5", "4", "1", "2"]
    assert re.findall(r'href="#part-(\d)"', page) == ["3", "5", "4", "1", "2"]
