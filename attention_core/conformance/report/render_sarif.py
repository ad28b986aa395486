"""Reports as SARIF 2.1.0, which code scanning reads: one rule a law, results at the target's `def`.

Of a refuted target the cases that the terminal shows are results; laws that fall with them are counted.

Source: OASIS, Static Analysis Results Interchange Format 2.1.0.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from attention_core.conformance.contracts import contracts
from attention_core.conformance.report.law_result import Counterexample
from attention_core.conformance.report.ranking import by_telling, choose_counterexamples
from attention_core.conformance.report.results import Report, count
from attention_core.worker.definition import Definition, find_definition

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
            report, found.law, "error", _words(found) + (f"\n{count(rest, 'more law')} refuted" if rest else ""), place
        )
    for law in by_telling(report.with_status("known_failure")):
        text = law.message if law.counterexample is None else _words(law.counterexample)
        known = _result(report, law.law, "note", text, place)
        yield known | {"suppressions": [{"kind": "external", "justification": law.message}]}
    if report.verdict in ("incomplete", "error") and not report.partial:
        level = "error" if report.verdict == "error" and not report.unavailable else "warning"
        yield _result(report, NOT_JUDGED, level, f"{report.verdict}: {report.reason()}", place)


def _words(found: Counterexample) -> str:
    case = f"\n{'smallest ' if found.shrunk else ''}case: {found.case}" if found.case else ""
    return f"{found.message}{case}\n\n{found.snippet}"


def _result(report: Report, rule: str, level: str, text: str, place: Definition | None) -> dict[str, Any]:
    # The same target and law are the same finding in every run, whatever case shows it and wherever the line moved.
    key = hashlib.sha256(f"{report.target}\0{rule}".encode("utf-8", "replace")).hexdigest()
    said = {"text": f"{report.target}: {text}"}
    found: dict[str, Any] = {
        "ruleId": rule,
        "level": level,
        "message": said,
        "partialFingerprints": {"targetAndLaw/v1": key},
    }
    if place is not None:
        address = {"uri": quote(place.path) if place.is_below else f"file://{quote(place.path)}"}
        found["locations"] = [{"physicalLocation": {"artifactLocation": address, "region": {"startLine": place.line}}}]
    return found
