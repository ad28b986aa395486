"""Reports as JUnit XML: one test suite a target, one test case a law, with the file and line of the target's `def`."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence

from attention_core.conformance.report.law_result import LawResult
from attention_core.conformance.report.results import Report
from attention_core.worker.definition import find_definition

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
