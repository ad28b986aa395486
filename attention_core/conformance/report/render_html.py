"""Reports as one self-contained HTML page: verdicts, the table of laws, every counterexample with its snippet.

Whatever comes from a target or a file is escaped; the page loads nothing and runs no script.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attention_core.conformance.report.law_result import LawResult
from attention_core.conformance.report.render_text import opening, remark, under_found_lines
from attention_core.conformance.report.results import Report
from attention_core.html_page import STYLE, render_page

COLOURS = """
.conforms, .held { color: #197a35; } .refuted, .error { color: #c22; font-weight: 600; }
.incomplete, .refused, .unexpected_pass { color: #a60; } .known_failure { color: #83a; }
.not_applicable { opacity: .6; }
"""
TEMPLATE = """\
<h1>Is this attention right?</h1>
{{ table((("target", ""), ("verdict", ""), ("", "")), verdicts) }}
{% for report, lines, laws, origin in sections %}
<h2>{{ report.target }}: <span class="{{ report.verdict }}">{{ report.verdict }}</span></h2>
{% for line in lines %}<p>{{ line }}</p>{% endfor %}
{% for found in report.counterexamples %}
<h3>{{ found.title }}</h3>
<p>{{ found.message }}{% if found.case %}<br>
{% if found.shrunk %}smallest {% endif %}case: {{ found.case }}{% endif %}</p>
<pre>{{ found.snippet }}</pre>
{% endfor %}
{% if laws %}
{{ table((("law", ""), ("status", ""), ("problems", "number"), ("seconds", "number"), ("", "")), laws) }}
{% endif %}
<p>{{ origin }}</p>
{% endfor %}
"""


def to_html(reports: Sequence[Report]) -> str:
    """The page."""
    verdicts = [((r.target, ""), (r.verdict, r.verdict), (remark(r), "")) for r in reports]
    sections = [
        (one, [line for line in lines(one) if line], [law_row(law) for law in one.laws], origin(one))
        for report in reports for one in with_other_forms(report)
    ]  # fmt: skip
    return render_page("attention-core", STYLE + COLOURS, TEMPLATE, verdicts=verdicts, sections=sections)


def with_other_forms(report: Report) -> Iterator[Report]:
    """A report and the ones on the same target under what was found of it."""
    yield report
    if report.under_found is not None:
        yield from with_other_forms(report.under_found)


def lines(report: Report) -> Iterator[str]:
    """What is said of one target before its counterexamples."""
    yield report.reason()
    if report.first_look is not None:
        yield from report.first_look.lines
    if report.laws:
        yield from opening(report)
    yield from report.advice
    yield from under_found_lines(report)


def origin(report: Report) -> str:
    """With what a report was made."""
    versions = ", ".join(f"{k} {v}" for k, v in report.versions.items())
    return f"{versions}; seed {report.seed}, effort {report.effort}"


def law_row(result: LawResult) -> tuple[tuple[str, str], ...]:
    """One law."""
    return (
        (result.law, ""), (result.status.replace("_", " "), result.status), (str(result.cases), "number"),
        (f"{result.seconds:.2f}", "number"), (result.message, ""),
    )  # fmt: skip
