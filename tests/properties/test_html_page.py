"""The frame of HTML pages: what is filled in is text, and a name that a template lacks is an error."""

from __future__ import annotations

import re
from importlib import import_module

import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

from attention_core.html_page import STYLE, breakable, policy, render, render_page

EVIL = "<script>alert(1)</script>\"'&"


def test_what_is_filled_in_is_text() -> None:
    template = "<p>{{ words }}</p>{{ table(heads, rows) }}"
    page = render_page(EVIL, STYLE, template, words=EVIL, heads=[(EVIL, "")], rows=[[(EVIL, EVIL)]])
    assert "<script" not in page and page.count("&lt;script&gt;") == 6


def test_classes_are_set_where_there_are_any() -> None:
    page = render_page(
        "", "", "{{ table(heads, rows) }}", heads=[("n", "number")], rows=[[("1", "number")], [("", "")]]
    )
    assert '<th class="number">n</th>' in page and '<td class="number">1</td>' in page and "<td></td>" in page


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="words"):
        render_page("", "", "{{ words }}")


def test_a_page_runs_its_own_script_alone() -> None:
    code = "document.title = 1 < 2 ? 'yes' : 'no';"
    page = render_page("a", "", "<p>{{ words }}</p>", script=code, words=EVIL)
    assert page.count("<script") == 1 and f"<script>{code}</script>" in page
    assert policy(code) != policy(code + " ") and "script-src" not in policy()
    assert "default-src &#39;none&#39;" in page and policy(code).split("sha256-")[1].rstrip("'") in page


def test_a_part_is_markup_that_is_not_escaped_again() -> None:
    part = render("<b>{{ words }}</b>", words="a < b")
    assert "<b>a &lt; b</b>" in render_page("", "", "{{ part }}", part=part)


def test_wide_parts_scroll_by_themselves_and_keys_reach_them() -> None:
    page = render_page(
        "", "", "{{ table(heads, rows) }}<pre>x</pre>", heads=[("<table>", "")], rows=[[("</table>", "")]]
    )
    main = page.partition("<main>")[2].partition("</main>")[0]
    assert main.count('<div class="wide" tabindex="0"><table>') == main.count("</table></div>") == 1
    assert '<pre tabindex="0">x</pre>' in main and "&lt;/table&gt;" in main
    assert render_page("", "", "<header></header><main></main>").count("<main>") == 1


def test_long_names_go_on_at_their_joints_and_stay_text() -> None:
    name = "every_length_around_blocks_is_right"
    cell = render("{{ table((('a', ''),), rows) }}", rows=[[(name, "")], [(f"{name}<b>", "")], [("1.77e-36 a_b", "")]])
    broken = name.replace("_", "_<wbr>")
    assert f"<td>{broken}</td>" in cell and f"<td>{broken}&lt;b&gt;</td>" in cell and "<td>1.77e-36 a_b</td>" in cell
    path = "attention_<wbr>core.<wbr>peers.<wbr>jax:<wbr>dot_<wbr>product"
    assert str(breakable("attention_core.peers.jax:dot_product")) == path
    assert breakable(Markup("<i>an_italic_name_of_a_law</i>")) == "<i>an_italic_name_of_a_law</i>"


SURFACES = ("#ffffff", "#16181c")
"""What text stands on, light and dark: the colours of STYLE."""


def luminance(colour: str) -> float:
    """The relative luminance of WCAG 2."""
    digits = colour.lstrip("#")
    digits = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
    parts = [int(digits[k : k + 2], 16) / 255 for k in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize(
    "module",
    (
        "attention_core.audit.render_html", "attention_core.bench.report.render_html",
        "attention_core.conformance.report.render_html", "attention_core.grading.render_html",
        "attention_core.report_page.page", "attention_core.teaching.feedback",
    ),
)  # fmt: skip
def test_coloured_words_are_legible_on_light_and_on_dark(module: str) -> None:
    """A contrast of 4.5 is what WCAG 2 asks of text (level AA)."""
    assert all(surface in STYLE.replace("#fff,", "#ffffff,") for surface in SURFACES)
    found = re.findall(r"[ {]color: (?:light-dark\(([^,]+), ([^)]+)\)|([^;]+));", import_module(module).COLOURS)
    assert found
    for light, dark, both in found:
        for surface, colour in zip(SURFACES, (light or both, dark or both), strict=True):
            low, high = sorted((luminance(surface), luminance(colour)))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (surface, colour)
