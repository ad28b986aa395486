"""Reports as HTML.

The HTML page: whatever a target or a file says is text there, never markup, and nothing is loaded or run.
"""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from attention_core.conformance.report.law_result import STATUSES, Counterexample, LawResult
from attention_core.conformance.report.render_html import to_html
from attention_core.conformance.report.results import Report

EVIL = "<script>alert(1)</script><img src=x onerror='alert(1)'>\"'&"
TAGS = {
    "html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "br", "pre", "span", "table", "tr", "th",
    "td", "details", "summary", "main", "div",
}  # fmt: skip
VOID = {"meta", "br"}


class Reader(HTMLParser):
    """Collects tags and text, and checks that tags are closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text, self.open = "", list[str]()
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def evil_report(status: str = "refuted") -> Report:
    found = Counterexample(EVIL, EVIL, EVIL, {}, EVIL)
    return Report(
        EVIL, {"layout": EVIL, "dtypes": [EVIL]}, {EVIL: "tested", "scale": EVIL},
        [LawResult(EVIL, status, 1, 0.1, found, EVIL, minimum_met=False)], {EVIL: EVIL}, problem=EVIL, advice=[EVIL],
        unavailable=EVIL, effort=EVIL, traceback=EVIL,
    )  # fmt: skip


@pytest.mark.parametrize("status", [*STATUSES, EVIL])
def test_everything_is_escaped(status: str) -> None:
    page = Reader(to_html([evil_report(status), Report(EVIL, failed=True, problem=EVIL)]))
    assert {tag for tag, _ in page.tags} <= TAGS
    # in attributes nothing but the words of this module: no handlers, no addresses
    heads = {"lang", "charset", "name", "content", "http-equiv"}
    assert {name for _, attrs in page.tags for name in attrs} <= {"class", "tabindex", *heads}
    assert not any(heads & set(attrs) for tag, attrs in page.tags if tag not in ("html", "meta"))
    assert page.text.count(EVIL) > 8


def test_the_page_loads_and_runs_nothing() -> None:
    page = to_html([evil_report()])
    for word in ("<script", "<img", "<link", "http:", "https:", "url(", "@import"):
        assert word not in page


def test_everything_found_is_on_the_page() -> None:
    found = Counterexample("some_law", "got 1, but should be 2", "B=1 H=1", {}, "assert 1 < 2\n")
    laws = [LawResult("some_law", "refuted", 7, 0.25, found, "message"), LawResult("other_law", "held", 9, 1.5)]
    report = Report(
        "f", {"dtypes": ["float32"]}, {"scale": "tested"}, laws, {"torch": "9.9"}, 3, advice=["consistent with"]
    )
    page = " ".join(Reader(to_html([report, Report("g", unavailable="needs a GPU")])).text.split())
    for word in ("f: refuted", "some_law", "got 1, but should be 2", "B=1 H=1", "assert 1 < 2", "other_law", "held", "9",
                 "1.50", "torch 9.9", "seed 3", "consistent with", "claims tested: scale", "needs a GPU"):  # fmt: skip
        assert word in page, word


def test_what_is_refuted_comes_first() -> None:
    """The targets, then the laws of each: refuted, not judged, held; the report keeps the order of its laws."""
    laws = [
        LawResult("this_holds", "held", 9, 0.1), LawResult("too_few", "held", 1, 0.1, minimum_met=False),
        LawResult("none_answered", "refused", 0, 0.1), LawResult("this_breaks", "refuted", 7, 0.2, message="m"),
    ]  # fmt: skip
    right, wrong, late = Report("right", laws=laws[:1]), Report("wrong", laws=laws), Report("late", failed=True)
    text = Reader(to_html([right, late, wrong]).replace("<wbr>", "")).text
    targets = [text.index(words) for words in ("wrong:\nrefuted", "late:\nerror", "right:\nconforms")]
    rows = [
        text.rindex(f"{name}{status}", 0, targets[1])
        for name, status in (
            ("this_breaks", "refuted"),
            ("too_few", "held"),
            ("none_answered", "refused"),
            ("this_holds", "held"),
        )
    ]
    assert targets == sorted(targets) and rows == sorted(rows)
    assert [law["law"] for law in wrong.to_dict()["laws"]] == [law.law for law in laws]
