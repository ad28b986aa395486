"""Reports as HTML: verdicts, the table of laws, every counterexample with its snippet and a picture of its case.

Among targets and among laws, what is refuted comes first, then what was not judged, then what holds.
Whatever comes from a target or a file is escaped; the page loads nothing and runs no script.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from attention_core.conformance.report.heat_map import draw_case
from attention_core.conformance.report.law_result import LawResult
from attention_core.conformance.report.ranking import sort_worst_first
from attention_core.conformance.report.render_text import opening, remark, under_found_lines
from attention_core.conformance.report.results import Report, sort_by_verdict
from attention_core.html_page import STYLE, render, render_page

if TYPE_CHECKING:
    from markupsafe import Markup

COLOURS = """
.conforms, .held { color: light-dark(#197a35, #6bd089); }
.refuted, .error { color: light-dark(#c22, #ff8d8d); font-weight: 600; }
.incomplete, .refused, .unexpected_pass { color: light-dark(#8a5300, #e8b04a); }
td.conforms, td.refuted, td.incomplete, td.error, td.refused, td.held { overflow-wrap: normal; }  /* whole words */
.known_failure { color: light-dark(#83a, #d59be8); } .not_applicable { opacity: .75; }
"""
HEADS = (("law", ""), ("status", ""), ("problems", "number"), ("seconds", "number"), ("why", ""))
SHOWN = 5
"""Counterexamples of a target that are seen at once; the others unfold."""
SECTIONS = """\
{{ table((("target", ""), ("verdict", ""), ("in short", "")), verdicts) }}
{% for report, lines, laws, others, origin in sections %}
<h{{ level }}>{{ report.target | breakable }}:
<span class="{{ report.verdict }}">{{ report.verdict }}</span></h{{ level }}>
{% for line in lines %}<p>{{ line }}</p>{% endfor %}
{% for found in report.counterexamples %}
{% if loop.index == shown + 1 %}
<details><summary>{{ loop.length - shown }} more, often for the same reason</summary>
{% endif %}
<h{{ level + 1 }}>{{ found.title | breakable }}</h{{ level + 1 }}>
<p>{{ found.message | breakable }}{% if found.case %}<br>
{% if found.shrunk %}smallest {% endif %}case: {{ found.case }}{% endif %}</p>
{{ draw(found, report.declared) }}
<pre>{{ found.snippet }}</pre>
{% if loop.last and loop.length > shown %}</details>{% endif %}
{% endfor %}
{% if laws %}
{{ table(heads, laws) }}
{% endif %}
{% if others %}
<details><summary>{{ others | length }} laws do not apply</summary>{{ table(heads, others) }}</details>
{% endif %}
<p>{{ origin }}</p>
{% endfor %}
"""


def to_html(reports: Sequence[Report]) -> str:
    """The page."""
    template = "<h1>Is this attention right?</h1>\n{{ sections }}"
    return render_page("attention-core", STYLE + COLOURS, template, sections=to_sections(reports))


def to_sections(reports: Sequence[Report], level: int = 2) -> Markup:
    """A table of the verdicts and a section for each report, whose heading is of a level, without the page."""
    reports = sort_by_verdict(reports)
    verdicts = [((r.target, ""), (r.verdict, r.verdict), (remark(r), "")) for r in reports]
    sections = [
        (one, [line for line in lines(one) if line], *law_rows(one), origin(one))
        for report in reports for one in with_other_forms(report)
    ]  # fmt: skip
    return render(SECTIONS, verdicts=verdicts, sections=sections, draw=draw_case, level=level, shown=SHOWN, heads=HEADS)


def with_other_forms(report: Report) -> Iterator[Report]:
    """A report and the ones on the same target under what was found of it."""
    yield report
    if report.under_found is not None:
        yield from with_other_forms(report.under_found)


def lines(report: Report) -> Iterator[str]:
    """The part about one target before its counterexamples."""
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


def law_rows(report: Report) -> tuple[list[tuple[tuple[str, str], ...]], list[tuple[tuple[str, str], ...]]]:
    """The laws that apply, and those that do not."""
    laws = sort_worst_first(report.laws)
    apply = [law_row(law) for law in laws if law.status != "not_applicable"]
    return apply, [law_row(law) for law in laws if law.status == "not_applicable"]


def law_row(result: LawResult) -> tuple[tuple[str, str], ...]:
    """One law."""
    return (
        (result.law, ""), (result.status.replace("_", " "), result.status), (str(result.cases), "number"),
        (f"{result.seconds:.2f}", "number"), (result.message, ""),
    )  # fmt: skip
