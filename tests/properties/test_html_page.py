"""The frame of HTML pages: what is filled in is text, and a name that a template lacks is an error."""

from __future__ import annotations

import pytest
from jinja2 import UndefinedError

from attention_core.html_page import STYLE, render_page

EVIL = "<script>alert(1)</script>\"'&"


def test_what_is_filled_in_is_text() -> None:
    template = "<p>{{ words }}</p>{{ table(heads, rows) }}"
    page = render_page(EVIL, STYLE, template, words=EVIL, heads=[(EVIL, "")], rows=[[(EVIL, EVIL)]])
    assert "<script" not in page and page.count("&lt;script&gt;") == 5


def test_classes_are_set_where_there_are_any() -> None:
    page = render_page(
        "", "", "{{ table(heads, rows) }}", heads=[("n", "number")], rows=[[("1", "number")], [("", "")]]
    )
    assert '<th class="number">n</th>' in page and '<td class="number">1</td>' in page and "<td></td>" in page


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="words"):
        render_page("", "", "{{ words }}")
