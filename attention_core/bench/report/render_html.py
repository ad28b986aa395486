"""Results as one self-contained page: the tables, the pictures, how time and memory grow, and what it was measured on.

Whatever comes from a kernel's name or a file is escaped; the page loads nothing and runs no script.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from attention_core.bench.report.growth import QUANTITIES, series_of
from attention_core.bench.report.numbers import duration, factor, format_end
from attention_core.bench.report.pictures import as_svg, pictures
from attention_core.bench.report.render_text import largest, size, sort_by_time, what_ran
from attention_core.bench.report.results import Cell, Column, Results, doubts
from attention_core.bench.timing.machine import busy_words
from attention_core.bench.timing.statistics import Interval
from attention_core.bench.workloads.workload import as_gib
from attention_core.conformance.report.render_html import STYLE

HEADS = ("kernel", "time", "ratio", "", "of limit", "memory", "process", "error", "largest", "what ran")
TITLES = {"growth": "Growth with n", "pareto": "Time against error", "roofline": "Roofline"}
MORE = """
.FASTER { color: #197a35; } .SLOWER { color: #c22; } .AMBIGUOUS { color: #a60; }
svg { max-width: 100%; height: auto; }
"""


def to_html(results: Results) -> str:
    """The page."""
    machine, settings = results.machine, results.settings
    body = ["<h1>Attention kernels side by side</h1>"]
    body.append(f"<p>{escape(str(machine.get('processor')))}, {escape(str(settings.get('threads')))} threads; ")
    body.append(escape(", ".join(f"{k} {v}" for k, v in results.versions.items())) + "</p>")
    if words := busy_words(machine.get("busy")):
        body.append(f"<p>Measured while {escape(words)}.</p>")
    for cell in results.cells:
        body += [section(cell), *(f"<p class='SLOWER'>{escape(line)}</p>" for line in doubts(cell, results.limits))]
    for name, make in pictures(results).items():
        body.append(f"<h2>{TITLES[name]}</h2>{as_svg(make)}")
    body.append(growth_table(results))
    head = f"<meta charset='utf-8'><title>attention-core bench</title><style>{STYLE}{MORE}</style>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{''.join(body)}</body></html>\n"


def section(cell: Cell) -> str:
    """One cell."""
    limit = "" if cell.limit is None else f"<p>limit here {duration(cell.limit)} ({escape(cell.binding)})</p>"
    rows = [row(name, column, cell.baseline) for name, column in sort_by_time(cell)]
    return f"<h2>{escape(cell.workload.name())}</h2>{limit}{table(HEADS, rows)}"


def row(name: str, column: Column, baseline: str) -> Sequence[str]:
    """One kernel."""
    if column.seconds is None:
        return (name, "", "", "", "", "", "", "", "", f"{column.status}: {column.message}")
    ratio = column.comparison
    return (
        name, duration(column.seconds),
        "" if ratio is None else f"{factor(ratio.ratio)} [{format_end(ratio.low)}, {format_end(ratio.high)}]",
        "baseline" if name == baseline else "" if ratio is None else ratio.verdict,
        "" if column.share is None else f"{column.share:.0%}", size(column, "allocator"), size(column, "process"),
        "" if column.rms is None else f"{column.rms:.1e}", largest(column), what_ran(column),
    )  # fmt: skip


def growth_table(results: Results) -> str:
    """The exponents of time and memory."""
    rows = []
    for one in series_of(results):
        ends = [as_gib(one.values["allocator"][-1]) if one.values["allocator"][-1] > 0 else ""]
        rows.append((one.workload, one.kernel, *(grown(one.exponent(q)) for q in QUANTITIES), *ends))
    if not rows:
        return ""
    heads = ("workload", "kernel", "time ~ n^", "allocator ~ n^", "process ~ n^", "at the longest")
    return f"<h2>Exponents</h2>{table(heads, rows)}"


def grown(found: Interval | None) -> str:
    """An exponent with its interval."""
    return "" if found is None else f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of texts, each escaped; verdicts have their colour."""
    head = "".join(f"<th>{escape(h)}</th>" for h in heads)
    lines = []
    for cells in rows:
        marked = [f"<td{_class(c)}>{escape(c)}</td>" for c in cells]
        lines.append(f"<tr>{''.join(marked)}</tr>")
    return f"<table><tr>{head}</tr>{''.join(lines)}</table>"


def _class(text: str) -> str:
    return f" class='{text}'" if text in ("FASTER", "SLOWER", "AMBIGUOUS") else ""
