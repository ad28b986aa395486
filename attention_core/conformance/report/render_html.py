"""Reports as one self-contained HTML page: verdicts, the table of laws, every counterexample with its snippet.

Whatever comes from a target or a file is escaped; the page loads nothing and runs no script.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from attention_core.conformance.report.law_result import LawResult
from attention_core.conformance.report.render_text import opening, remark, under_found_lines
from attention_core.conformance.report.results import Report

STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1.5rem; }
th, td { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #8884; vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
pre { background: #8881; padding: .8rem; overflow-x: auto; font-size: 13px; }
.conforms, .held { color: #197a35; } .refuted, .error { color: #c22; font-weight: 600; }
.incomplete, .refused, .unexpected_pass { color: #a60; } .known_failure { color: #83a; }
.not_applicable { opacity: .6; }
"""


def to_html(reports: Sequence[Report]) -> str:
    """The page."""
    body = ["<h1>Is this attention right?</h1>", verdicts(reports)]
    for report in reports:
        body.append(section(report))
    head = f"<meta charset='utf-8'><title>attention-core</title><style>{STYLE}</style>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{''.join(body)}</body></html>\n"


def verdicts(reports: Sequence[Report]) -> str:
    """One row a target."""
    rows = [
        f"<tr><td>{escape(r.target)}</td><td class='{r.verdict}'>{escape(r.verdict)}</td>"
        f"<td>{escape(remark(r))}</td></tr>"
        for r in reports
    ]
    return table(("target", "verdict", ""), rows)


def section(report: Report) -> str:
    """Everything about one target."""
    parts = [f"<h2>{escape(report.target)}: <span class='{report.verdict}'>{escape(report.verdict)}</span></h2>"]
    parts.append(f"<p>{escape(report.reason())}</p>")
    if report.first_look is not None:
        parts += [f"<p>{escape(line)}</p>" for line in report.first_look.lines]
    if report.laws:
        parts += [f"<p>{escape(line)}</p>" for line in opening(report)]
    parts += [f"<p>{escape(line)}</p>" for line in report.advice if line]
    parts += [f"<p>{escape(line)}</p>" for line in under_found_lines(report)]
    for found in report.counterexamples:
        case = f"<br>{'smallest ' if found.shrunk else ''}case: {escape(found.case)}" if found.case else ""
        parts.append(f"<h3>{escape(found.title)}</h3><p>{escape(found.message)}{case}</p>")
        parts.append(f"<pre>{escape(found.snippet)}</pre>")
    if report.laws:
        parts.append(table(("law", "status", "problems", "seconds", ""), [law_row(r) for r in report.laws]))
    versions = ", ".join(f"{k} {v}" for k, v in report.versions.items())
    parts.append(f"<p>{escape(versions)}; seed {report.seed}, effort {escape(report.effort)}</p>")
    if report.under_found is not None:
        parts.append(section(report.under_found))
    return "".join(parts)


def law_row(result: LawResult) -> str:
    """One law."""
    return (
        f"<tr><td>{escape(result.law)}</td>"
        f"<td class='{escape(result.status)}'>{escape(result.status.replace('_', ' '))}</td>"
        f"<td class='number'>{result.cases}</td><td class='number'>{result.seconds:.2f}</td>"
        f"<td>{escape(result.message)}</td></tr>"
    )


def table(names: Sequence[str], rows: Sequence[str]) -> str:
    """A table from ready rows."""
    numeric = ("problems", "seconds")
    head = "".join(f"<th{' class=number' if n in numeric else ''}>{escape(n)}</th>" for n in names)
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>"
