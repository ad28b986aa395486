"""Reports that continuous integration reads: a badge, GitHub's annotations and summary, JUnit XML, SARIF 2.1.0.

The badge is the verdict over all targets: an SVG that stands alone. GitHub Actions gets one annotation a target at its
`def`, and a summary in Markdown. JUnit XML has one test suite a target, one test case a law, with the file and line of
the target's `def`. SARIF, which code scanning reads, has one rule a law, results at the target's `def`: of a refuted
target the cases that the terminal shows are results; laws that fall with them are counted.

Source: OASIS, Static Analysis Results Interchange Format 2.1.0.
"""

from __future__ import annotations

import hashlib
import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from markupsafe import escape

from attention_core.annotations import annotation, cell, fence, locate_in_checkout
from attention_core.badge import draw_badge
from attention_core.conformance.contracts import contracts
from attention_core.conformance.report.law_result import Counterexample, LawResult
from attention_core.conformance.report.ranking import choose_counterexamples, order_results
from attention_core.conformance.report.results import VERDICTS, WORST_FIRST, Report, count
from attention_core.worker.definition import Definition, find_definition

COLOURS = {"conforms": "#2a7d3f", "refuted": "#c0392b", "incomplete": "#a66a00", "error": "#5f6368"}
LABEL = "attention"


def to_badge(reports: Sequence[Report]) -> str:
    """Return the SVG of the worst verdict: refuted before error before incomplete before conforms.

    >>> from attention_core.conformance.report.results import Report
    >>> "incomplete" in to_badge([Report("mine.py:attention")])
    True
    """
    assert set(WORST_FIRST) == set(VERDICTS)
    found = {report.verdict for report in reports} or {"incomplete"}
    word = next(verdict for verdict in WORST_FIRST if verdict in found)
    return draw_badge(LABEL, word, COLOURS[word])


LEVELS = {"refuted": "error", "error": "error", "incomplete": "warning"}
MARKS = {"conforms": "✅", "refuted": "❌", "error": "❌", "incomplete": "⚠️"}


def annotation_lines(reports: Sequence[Report]) -> list[str]:
    """Return a line for each target that does not conform: its verdict, reason and most telling case.

    GitHub shows ten errors of a step, so that one target has one.
    """
    lines = []
    for report in reports:
        if report.passed:
            continue
        level = "warning" if report.unavailable else LEVELS[report.verdict]
        place = find_definition(report.target)
        where = (place.path, place.line) if place is not None and place.is_below else ("", 0)
        found = next(iter(report.counterexamples), None) if report.verdict == "refuted" else None
        message = report.reason() if found is None else f"{report.reason()}\n{_summary_words(found)}\n\n{found.snippet}"
        lines.append(annotation(level, f"{report.target}: {report.verdict}", message, *where))
    return lines


def to_markdown(reports: Sequence[Report]) -> str:
    """Return the summary: a table of verdicts, and the most telling case of each refuted target, folded."""
    rows = [
        f"| {cell(report.target)} | {MARKS[report.verdict]} {report.verdict} | {cell(report.reason())} |\n"
        for report in reports
    ]
    text = "### attention-core\n\n| target | verdict | |\n|---|---|---|\n" + "".join(rows) + "\n"
    for report in reports:
        for found in report.counterexamples[:1] if report.verdict == "refuted" else []:
            title = f"<summary>{escape(report.target)}: {escape(found.title)}, as a program</summary>"
            advice = "".join(f"{cell(line)}\n\n" for line in report.advice)
            program = fence(found.snippet, "python")
            text += f"<details>{title}\n\n{cell(_summary_words(found))}\n\n{program}\n{advice}</details>\n\n"
    return text


def _summary_words(found: Counterexample) -> str:
    case = f"\n{'smallest ' if found.shrunk else ''}case: {found.case}" if found.case else ""
    return found.message + case


SKIPPED = ("refused", "not_applicable", "known_failure")


def to_junit(reports: Sequence[Report]) -> str:
    """The XML text; refuted laws are failures, what could not be judged is skipped, broken targets are errors."""
    root = ET.Element("testsuites", name="attention-core")
    for report in reports:
        suite = ET.SubElement(root, "testsuite", name=_clean(report.target))
        place = find_definition(report.target)
        for result in report.laws:
            _case(suite, report, result)
        if report.problem or report.unavailable or not report.laws:
            case = ET.SubElement(suite, "testcase", classname=_clean(report.target), name="core", time="0")
            kind = "skipped" if report.unavailable else "error"
            ET.SubElement(case, kind, message=_clean(report.unavailable or report.problem or "nothing was judged"))
        for case in suite if place is not None else ():
            assert place is not None
            case.set("file", _clean(place.path))
            case.set("line", str(place.line))
        suite.set("tests", str(len(suite)))
        suite.set("failures", str(len(suite.findall("testcase/failure"))))
        suite.set("errors", str(len(suite.findall("testcase/error"))))
        suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: ET.Element, report: Report, result: LawResult) -> None:
    case = ET.SubElement(
        suite, "testcase", classname=_clean(report.target), name=_clean(result.law), time=f"{result.seconds:.3f}"
    )  # fmt: skip
    if result.status in SKIPPED:
        ET.SubElement(case, "skipped", message=_clean(f"{result.status}: {result.message}"))
    elif result.status != "held" or not result.minimum_met:
        message = result.message or "too few cases could be judged"
        kind = "error" if result.status == "error" else "failure"
        failure = ET.SubElement(case, kind, message=_clean(message), type=result.status)
        if result.counterexample is not None:
            failure.text = _clean(result.counterexample.snippet)


def _clean(text: str) -> str:
    """Text without the control characters that XML forbids."""
    return "".join(c if c in "\t\n" or _is_allowed(ord(c)) else "?" for c in text)


def _is_allowed(code: int) -> bool:
    return code >= 32 and not 0xD800 <= code < 0xE000 and code not in (0xFFFE, 0xFFFF)


SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
NOT_JUDGED = "not_judged"
"""The rule of targets that are incomplete or in error."""


def to_sarif(reports: Sequence[Report]) -> str:
    """Return one run over all reports: errors for what is refuted, warnings for what was not judged.

    A known failure is a suppressed result; what conforms has none.
    """
    results = [result for report in reports for result in _results(report)]
    rules = list(dict.fromkeys(result["ruleId"] for result in results))
    for result in results:
        result["ruleIndex"] = rules.index(result["ruleId"])
    sentences = {law.name: law.sentence for contract in contracts().values() for law in contract.laws}
    sentences[NOT_JUDGED] = "the target could not be judged by all laws"
    own = [report.versions["attention-core"] for report in reports if "attention-core" in report.versions]
    versions = {"version": own[0]} if own else {}
    run = {
        "tool": {"driver": {"name": "attention-core", **versions, "rules": [
            {"id": rule, "shortDescription": {"text": sentences.get(rule, rule)}} for rule in rules
        ]}},
        "invocations": [{"executionSuccessful": not any(report.verdict == "error" for report in reports)}],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }  # fmt: skip
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=True) + "\n"


def _results(report: Report) -> Iterator[dict[str, Any]]:
    place = find_definition(report.target)
    refuted = report.with_status("refuted")
    chosen = choose_counterexamples(report.laws, report.explained)
    for found in chosen:
        rest = len(refuted) - len(chosen)
        yield _result(
            report,
            found.law,
            "error",
            _result_words(found) + (f"\n{count(rest, 'more law')} refuted" if rest else ""),
            place,
        )
    for law in order_results(report.with_status("known_failure")):
        text = law.message if law.counterexample is None else _result_words(law.counterexample)
        known = _result(report, law.law, "note", text, place)
        yield known | {"suppressions": [{"kind": "external", "justification": law.message}]}
    if report.verdict in ("incomplete", "error") and not report.partial:
        level = "error" if report.verdict == "error" and not report.unavailable else "warning"
        yield _result(report, NOT_JUDGED, level, f"{report.verdict}: {report.reason()}", place)


def _result_words(found: Counterexample) -> str:
    case = f"\n{'smallest ' if found.shrunk else ''}case: {found.case}" if found.case else ""
    return f"{found.message}{case}\n\n{found.snippet}"


def _result(report: Report, rule: str, level: str, text: str, place: Definition | None) -> dict[str, Any]:
    # The same target and law are the same finding in every run, whatever case shows it and wherever the line moved.
    key = hashlib.sha256(f"{report.target}\0{rule}".encode("utf-8", "replace")).hexdigest()
    message = {"text": f"{report.target}: {text}"}
    found: dict[str, Any] = {
        "ruleId": rule,
        "level": level,
        "message": message,
        "partialFingerprints": {"targetAndLaw/v1": key},
    }
    if place is not None:
        below = locate_in_checkout(place.path)
        address = {"uri": quote(below) if place.is_below else f"file://{quote(place.path)}"}
        found["locations"] = [{"physicalLocation": {"artifactLocation": address, "region": {"startLine": place.line}}}]
    return found
