"""Results as Markdown tables, for documents that are regenerated: one row a kernel, cells under their workload."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attention_core.bench.report.growth import QUANTITIES, series_of
from attention_core.bench.report.number_words import duration, factor, format_end
from attention_core.bench.report.render_text import size, sort_by_time
from attention_core.bench.report.results import Cell, Column, Results, doubts
from attention_core.bench.workloads.workload import as_gib

HEADS = ("kernel", "time", "ratio", "verdict", "of limit", "memory", "error", "ran")


def to_markdown(results: Results) -> str:
    """Every cell as a table, then the exponents of growth."""
    parts = ["\n\n".join([cell_table(cell), *map(escape, doubts(cell, results.limits))]) for cell in results.cells]
    grown = growth_table(results)
    return "\n\n".join(parts + ([grown] if grown else [])) + "\n"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; what would end a cell is escaped."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(escape(cell) for cell in line)} |" for line in lines)


def escape(text: str) -> str:
    """A text within a cell."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def cell_table(cell: Cell) -> str:
    """One workload: its name, its limit, its kernels."""
    limit = "" if cell.limit is None else f" (limit {duration(cell.limit)}, {cell.binding})"
    rows = [row(name, column, cell.baseline) for name, column in sort_by_time(cell)]
    return f"**{escape(cell.workload.name())}**{limit}\n\n{table(HEADS, rows)}"


def row(name: str, column: Column, baseline: str) -> Sequence[str]:
    """One kernel."""
    if column.seconds is None:
        return (name, "", "", "", "", "", "", f"{column.status}: {column.message}")
    ratio = column.comparison
    operators = column.probe.get("operators", [])
    return (
        name, duration(column.seconds),
        "" if ratio is None else f"{factor(ratio.ratio)} [{format_end(ratio.low)}, {format_end(ratio.high)}]",
        "baseline" if name == baseline else "" if ratio is None else ratio.verdict,
        "" if column.share is None else f"{column.share:.0%}", size(column, "allocator"),
        "" if column.rms is None else f"{column.rms:.1e}",
        operators[0]["operator"].removeprefix("aten::") if operators else "",
    )  # fmt: skip


def growth_table(results: Results) -> str:
    """The exponents of time and memory with their intervals; "" with fewer than three lengths."""
    rows = []
    for one in series_of(results):
        found = [one.exponent(quantity) for quantity in QUANTITIES]
        if any(found):
            words = ["" if f is None else f"{f.value:.2f} [{f.low:.2f}, {f.high:.2f}]" for f in found]
            longest = one.values["allocator"][-1]
            rows.append((one.workload, one.kernel, *words, as_gib(longest) if longest > 0 else ""))
    heads = ("workload", "kernel", "time ~ n^", "allocator ~ n^", "process ~ n^", "allocator at the longest")
    return table(heads, rows) if rows else ""


def disagreements(first: Results, second: Results, apart: float = 1.1) -> Iterator[str]:
    """Kernels that one run has in an order, further apart than a factor, and the other run in the other order.

    Args: apart, the factor, by the first run. A run does not disagree with itself.
    """
    for cell in first.cells:
        other = second.cell(cell.workload)
        timed = {n: c.seconds for n, c in cell.kernels.items() if c.seconds is not None}
        again = {} if other is None else {n: c.seconds for n, c in other.kernels.items() if c.seconds is not None}
        for fast, a in timed.items():
            for slow, b in timed.items():
                if fast in again and slow in again and b > apart * a and again[slow] < again[fast]:
                    yield f"{cell.workload.name()}: {fast} before {slow}, and then after it"
