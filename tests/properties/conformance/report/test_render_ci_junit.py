"""Reports as JUnit XML.

JUnit XML that any reader accepts, whatever stands in names and messages, with counts that agree with its elements.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_core.conformance.report.law_result import STATUSES, Counterexample, LawResult
from attention_core.conformance.report.render_ci import to_junit
from attention_core.conformance.report.results import Report
from attention_core.declaration.errors import plain

NASTY = '<a href="x">&amp;\'\x00\x0b\x1b[31m\ud800\ufffe\uffff\r\n\t]]> é ∑ \U0001f600'


def read(*reports: Report) -> ET.Element:
    """The document, as it is after a journey through a file."""
    return ET.fromstring(to_junit(reports).encode("utf-8").decode("utf-8"))


def report(status: str, text: str = "m", **changes: object) -> Report:
    found = Counterexample(text, text, text, {}, text) if status in ("refuted", "known_failure") else None
    return Report(text, laws=[LawResult(text, status, 3, 0.25, found, text)], **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("status", STATUSES)
def test_nasty_texts_give_valid_xml(status: str) -> None:
    assert read(report(status, NASTY, problem=NASTY, unavailable=NASTY)).tag == "testsuites"


@given(st.text(st.characters(exclude_categories=()), max_size=8))
def test_any_text_gives_valid_xml(text: str) -> None:
    (suite,) = read(report("refuted", text))
    text = plain(text)
    printable = [
        c for c in text if c in "\t\n" or 32 <= ord(c) < 0xD800 or (ord(c) > 0xDFFF and ord(c) not in (0xFFFE, 0xFFFF))
    ]
    shown = suite.get("name") or ""
    assert len(shown) == len(text)
    assert all(a == b for a, b in zip(shown, text, strict=True) if b in printable)


CHILD = {
    "held": None, "refuted": "failure", "unexpected_pass": "failure", "error": "error", "refused": "skipped",
    "not_applicable": "skipped", "known_failure": "skipped",
}  # fmt: skip


@pytest.mark.parametrize("status", STATUSES)
def test_every_status_has_its_element(status: str) -> None:
    (suite,) = read(report(status))
    (case,) = suite
    children = [child.tag for child in case]
    assert children == ([] if CHILD[status] is None else [CHILD[status]])
    assert (case.get("name"), case.get("classname"), case.get("time")) == ("m", "m", "0.250")


def test_the_snippet_is_the_text_of_the_failure() -> None:
    found = Counterexample("law", "message", "case", {}, "print(1 < 2)\n")
    failure = read(Report("f", laws=[LawResult("law", "refuted", 1, 0.1, found, "message")])).find(".//failure")
    assert failure is not None
    assert (failure.text, failure.get("message"), failure.get("type")) == ("print(1 < 2)\n", "message", "refuted")


def test_too_few_cases_are_a_failure() -> None:
    failure = read(Report("f", laws=[LawResult("law", "held", 1, 0.1, minimum_met=False)])).find(".//failure")
    assert failure is not None
    assert failure.get("message") == "too few cases could be judged"


@pytest.mark.parametrize(
    ("one", "kind", "message"),
    [
        (Report("f", problem="no such file", failed=True), "error", "no such file"),
        (Report("f", unavailable="needs a GPU"), "skipped", "needs a GPU"),
        (Report("f"), "error", "nothing was judged"),
    ],
)
def test_targets_without_laws_are_one_case(one: Report, kind: str, message: str) -> None:
    (suite,) = read(one)
    found = suite.find(f"testcase[@name='core']/{kind}")
    assert found is not None
    assert found.get("message") == message
    assert (suite.get("tests"), suite.get("failures")) == ("1", "0")


def test_counts_agree_with_the_elements() -> None:
    laws = [LawResult(s, s, 1, 0.1, minimum_met=s != "held") for s in STATUSES]
    (first, second) = read(Report("f", laws=laws, problem="incomplete"), Report("g", laws=laws[:1]))
    counts = [first.get(name) for name in ("tests", "failures", "errors", "skipped")]
    assert counts == ["8", "3", "2", "3"]
    assert [len(first.findall(f"testcase/{k}")) for k in ("failure", "error", "skipped")] == [3, 2, 3]
    assert second.get("tests") == "1"
