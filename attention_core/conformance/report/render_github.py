"""Reports for GitHub Actions: one annotation a target at its `def`, and a summary in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import escape

from attention_core.annotations import annotation, cell, fence
from attention_core.conformance.report.law_result import Counterexample
from attention_core.conformance.report.results import Report
from attention_core.worker.definition import find_definition

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
        message = report.reason() if found is None else f"{report.reason()}\n{_words(found)}\n\n{found.snippet}"
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
            text += f"<details>{title}\n\n{cell(_words(found))}\n\n{program}\n{advice}</details>\n\n"
    return text


def _words(found: Counterexample) -> str:
    case = f"\n{'smallest ' if found.shrunk else ''}case: {found.case}" if found.case else ""
    return found.message + case
