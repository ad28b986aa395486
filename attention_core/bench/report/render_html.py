"""Results as one self-contained page: the tables, the pictures, how time and memory grow, and what it was measured on.

Whatever comes from a kernel's name or a file is escaped; the page loads nothing and runs no script.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attention_core.bench.report.growth import QUANTITIES, series_of
from attention_core.bench.report.number_words import duration, factor, format_end
from attention_core.bench.report.pictures import as_svg, pictures
from attention_core.bench.report.render_text import largest, outcome, size, sort_by_time, what_ran
from attention_core.bench.report.results import Cell, Column, Results, doubts
from attention_core.bench.timing.machine import busy_words
from attention_core.bench.timing.statistics import Interval
from attention_core.bench.workloads.workload import as_gib
from attention_core.html_page import STYLE, render, render_page

if TYPE_CHECKING:
    from markupsafe import Markup

HEADS = ("kernel", "verdict", "ratio", "time", "of limit", "memory", "process", "error", "largest", "what ran")
GROWTH_HEADS = ("workload", "kernel", "time ~ n^", "allocator ~ n^", "process ~ n^", "at the longest")
VERDICTS = ("FASTER", "SLOWER", "AMBIGUOUS")
TITLES = {"growth": "Growth with n", "pareto": "Time against error", "roofline": "Roofline"}
COLOURS = """
.FASTER { color: light-dark(#197a35, #6bd089); } .SLOWER { color: light-dark(#c22, #ff8d8d); }
.AMBIGUOUS { color: light-dark(#8a5300, #e8b04a); }
"""
SECTIONS = """\
<p>{{ machine }}, {{ threads }} threads; {{ versions }}</p>
{% if busy %}<p>Measured while {{ busy }}.</p>{% endif %}
{% for name, outcome, limit, heads, rows, doubtful in cells %}
<h{{ level }}>{{ name }}</h{{ level }}>
<p><strong>{{ outcome }}</strong>{% if limit %}; {{ limit }}{% endif %}</p>
{{ table(heads, rows) }}
{% for line in doubtful %}<p class="SLOWER">{{ line }}</p>{% endfor %}
{% endfor %}
{% for title, picture in drawn %}<h{{ level }}>{{ title }}</h{{ level }}>
<div class="wide drawn" tabindex="0">{{ picture }}</div>
{% endfor %}
{% if exponents %}<h{{ level }}>Exponents</h{{ level }}>{{ table(growth_heads, exponents) }}{% endif %}
"""


def to_html(results: Results) -> str:
    """The page."""
    template = "<h1>Attention kernels side by side</h1>\n{{ sections }}"
    return render_page("attention-core bench", STYLE + COLOURS, template, sections=to_sections(results))


def to_sections(results: Results, level: int = 2, *, drawn: bool = True) -> Markup:
    """A section for each cell, whose heading is of a level, the pictures where they are wanted, and the exponents."""
    from markupsafe import Markup

    machine = results.machine
    return render(
        SECTIONS, machine=machine.get("processor"), level=level,
        threads=results.settings.get("threads"), versions=", ".join(f"{k} {v}" for k, v in results.versions.items()),
        busy=busy_words(machine.get("busy")),
        cells=[section(cell, doubts(cell, results.limits)) for cell in results.cells],
        drawn=[(TITLES[name], Markup(as_svg(make, name))) for name, make in pictures(results).items()] if drawn else [],
        growth_heads=with_classes(GROWTH_HEADS), exponents=[with_classes(row) for row in growth_rows(results)],
    )  # fmt: skip


def section(cell: Cell, doubtful: Sequence[str]) -> tuple[object, ...]:
    """One cell: its name, its outcome, its limit, its table, and what is doubtful about it."""
    limit = "" if cell.limit is None else f"limit here {duration(cell.limit)} ({cell.binding})"
    rows = [with_values(row(name, column, cell.baseline)) for name, column in sort_by_time(cell)]
    return cell.workload.name(), outcome(cell), limit, with_classes(HEADS), rows, doubtful


def row(name: str, column: Column, baseline: str) -> Sequence[str]:
    """One kernel."""
    if column.seconds is None:
        return (name, "", "", "", "", "", "", "", "", f"{column.status}: {column.message}")
    ratio = column.comparison
    return (
        name, "baseline" if name == baseline else "" if ratio is None else ratio.verdict,
        "" if ratio is None else f"{factor(ratio.ratio)} [{format_end(ratio.low)}, {format_end(ratio.high)}]",
        duration(column.seconds), "" if column.share is None else f"{column.share:.0%}", size(column, "allocator"),
        size(column, "process"), "" if column.rms is None else f"{column.rms:.1e}", largest(column), what_ran(column),
    )  # fmt: skip


def growth_rows(results: Results) -> list[Sequence[str]]:
    """The exponents of time and memory."""
    rows: list[Sequence[str]] = []
    for one in series_of(results):
        ends = [as_gib(one.values["allocator"][-1]) if one.values["allocator"][-1] > 0 else ""]
        rows.append((one.workload, one.kernel, *(grown(one.exponent(q)) for q in QUANTITIES), *ends))
    return rows


def grown(found: Interval | None) -> str:
    """An exponent with its interval."""
    return "" if found is None else f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"


def with_values(texts: Sequence[str]) -> list[tuple[str, str]]:
    """A row of a kernel with its classes: between its verdict and what ran stand numbers, which are not broken."""
    kernel, verdict, ratio, *values, ran = texts
    return [(kernel, ""), *with_classes([verdict]), (ratio, "ratio"), *((text, "value") for text in values), (ran, "")]


def with_classes(texts: Sequence[str]) -> list[tuple[str, str]]:
    """Texts with the class that colours verdicts."""
    return [(text, text if text in VERDICTS else "") for text in texts]
