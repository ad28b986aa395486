"""Results in the terminal: one table a cell, with why a kernel was not timed where its time would stand.

What `attention-core bench` tells while it measures: a line that changes in a terminal, lines now and then elsewhere.

It goes to standard error, so that a pipe gets the results alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING

from attention_core.bench.report.growth import QUANTITIES, series_of
from attention_core.bench.report.number_words import duration, factor, format_end
from attention_core.bench.report.results import Cell, Column, Results, doubts
from attention_core.bench.timing.machine import busy_words
from attention_core.bench.timing.statistics import DECIDING
from attention_core.bench.workloads.workload import as_gib
from attention_core.terminal import make_console

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


EVERY = 10.0
"""Seconds between two lines without a terminal, as in the log of a CI run: enough to see that it lives, and at what."""


class Telling:
    """A context that gives a function to tell what is being measured.

    Args: quiet, tell nothing; console, standard error by default; clock, seconds.
    """

    def __init__(
        self, quiet: bool, console: Console | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.quiet, self.clock = quiet, clock
        self.console = console or make_console(stderr=True)
        self.status = self.console.status("starting") if self.console.is_terminal and not quiet else None
        self.begun = clock()
        self.last = -EVERY

    def __enter__(self) -> Callable[[str], None]:
        self.begun = self.clock()
        if self.status is not None:
            self.status.start()
        return self.tell

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.status is not None:
            self.status.stop()

    def tell(self, text: str) -> None:
        """Show a text; off a terminal the first one, and then one in `EVERY` seconds, with the seconds that passed."""
        from rich.markup import escape

        passed = self.clock() - self.begun
        if self.status is not None:
            self.status.update(escape(text))
        elif not self.quiet and passed - self.last >= EVERY:
            self.last = passed
            self.console.print(escape(f"[{passed:.0f} s] {text}"), highlight=False, soft_wrap=True)


STYLES = {"FASTER": "green", "SLOWER": "red", "SAME": "", "AMBIGUOUS": "yellow"}
NAMED = 2
"""Operators shown in a table; the JSON holds all."""
EXTRA = ("of limit", "memory", "process", "error", "largest")
"""Columns that give way where a terminal is narrow."""
WIDEST = 1000
"""More than any table wants."""
SHARE = 0.05
"""Of the call's own time, what an operator must take to be shown."""


def print_results(console: Console, results: Results) -> None:
    """Every cell, and what the columns mean."""
    from rich.markup import escape

    for cell in results.cells:
        print_cell(console, cell)
        for line in doubts(cell, results.limits):
            console.print(escape(line), style="red", highlight=False)
    print_growth(console, results)
    if words := busy_words(results.machine.get("busy")):
        console.print(f"measured while {words}", style="yellow", highlight=False)
    for name, verdict in results.verdicts.items():
        if verdict["verdict"] not in ("conforms", "refuted"):
            console.print(
                escape(f"{name}: {verdict['verdict']} ({verdict['reason']})"), style="yellow", highlight=False
            )


def print_growth(console: Console, results: Results) -> None:
    """How time and memory grow with n, where there are three lengths."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(pad_edge=False, title="growth: exponents of n with their 95 % intervals", title_justify="left")
    for head in ("workload", "kernel", "time", "allocator", "process"):
        table.add_column(head)
    for one in series_of(results):
        found = [one.exponent(quantity) for quantity in QUANTITIES]
        if any(found):
            words = ["" if f is None else f"{f.value:.2f} [{f.low:.2f}, {f.high:.2f}]" for f in found]
            table.add_row(escape(one.workload), escape(one.kernel), *(escape(w) for w in words))
    if table.row_count:
        console.print(table)


def print_cell(console: Console, cell: Cell) -> None:
    """One cell."""
    from rich.markup import escape

    console.print()
    console.print(f"[bold]{escape(cell.workload.name())}[/]", highlight=False)
    if cell.limit is not None:
        flops, moved = cell.workload.flops / 1e9, as_gib(cell.workload.bytes)
        work = f"at least {flops:.3g} GFLOP, {cell.workload.exponentials:.3g} exponentials, {moved}"
        limit = f"limit of this machine {duration(cell.limit)} ({cell.binding})"
        console.print(f"{work}; {limit}", style="dim", highlight=False)
    # Reasons may be long, and may run over several lines; figures may not.
    figures = cell_table(replace(cell, kernels={n: c for n, c in cell.kernels.items() if c.status == "timed"}))
    if console.measure(figures, options=console.options.update(max_width=WIDEST)).maximum <= console.width:
        console.print(cell_table(cell))
    else:  # a table cut to fit would show neither times nor verdicts
        console.print(cell_table(cell, narrow=True))
        for name, column in sort_by_time(cell):
            console.print(escape(f"{name}: {'; '.join(details(column))}"), highlight=False)
    console.print(escape(outcome(cell)), highlight=False)


def cell_table(cell: Cell, *, narrow: bool = False) -> Table:
    """One row a kernel, the fastest first, those not timed last; narrow: times, ratios and verdicts alone."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(pad_edge=False)
    table.add_column("kernel", no_wrap=True)
    for head in ("time", f"time / {cell.baseline}", "verdict", *(() if narrow else EXTRA)):
        table.add_column(escape(head), justify="left" if head == "verdict" else "right", no_wrap=narrow)
    if not narrow:
        table.add_column("what ran")
    for name, column in sort_by_time(cell):
        if column.status != "timed" or column.seconds is None:
            if not narrow:
                table.add_row(escape(name), *[""] * (3 + len(EXTRA)), f"[yellow]{escape(why_not(column))}[/]")
            continue
        more = [] if narrow else [*extra(column), escape(what_ran(column))]
        style = "bold" if column.comparison is not None and column.comparison.verdict == "FASTER" else ""
        row = duration(column.seconds), interval(column), verdict(name, cell, column)
        table.add_row(escape(name), *row, *more, style=style)
    return table


def extra(column: Column) -> list[str]:
    """What `EXTRA` names."""
    share = "" if column.share is None else f"{column.share:.0%}"
    error = "" if column.rms is None else f"{column.rms:.1e}"
    return [share, size(column, "allocator"), size(column, "process"), error, largest(column)]


def details(column: Column) -> list[str]:
    """What a narrow table leaves out, in words."""
    if column.status != "timed" or column.seconds is None:
        return [why_not(column)]
    parts = [f"{head} {value}" for head, value in zip(EXTRA, extra(column), strict=True) if value]
    return parts + ([f"ran {what_ran(column)}"] if what_ran(column) else [])


def why_not(column: Column) -> str:
    """Why a kernel has no time."""
    return column.message if column.status == "cannot" else f"{column.status}: {column.message}"


def outcome(cell: Cell) -> str:
    """One sentence: what is the fastest here, and what was not decided."""
    timed = [(name, column.comparison) for name, column in sort_by_time(cell) if column.status == "timed"]
    if not timed:
        return "nothing could be timed"
    ratios = [(name, ratio) for name, ratio in timed if name != cell.baseline and ratio is not None]
    faster = [f"{name} takes {factor(r.ratio, 2)} of its time" for name, r in ratios if r.verdict == "FASTER"]
    open_ones = [f"{name} ({r.blocks} blocks)" for name, r in ratios if r.verdict == "AMBIGUOUS"]
    if len(timed) == 1:
        return f"only {timed[0][0]} was timed"
    if not ratios:
        return f"{cell.baseline} was not timed: there is no ratio"
    sentences = [
        f"faster than {cell.baseline}: {', '.join(faster)}"
        if faster
        else f"no kernel is certainly faster than {cell.baseline}"
    ]
    if open_ones:
        sentences.append(f"not decided at {DECIDING:.0%}, give it more --seconds: {', '.join(open_ones)}")
    return "; ".join(sentences)


def sort_by_time(cell: Cell) -> list[tuple[str, Column]]:
    """Kernels by time."""
    return sorted(cell.kernels.items(), key=lambda kv: math.inf if kv[1].seconds is None else kv[1].seconds)


def verdict(name: str, cell: Cell, column: Column) -> str:
    """The verdict on one kernel, in its colour."""
    if name == cell.baseline:
        return "[dim]baseline[/]"
    if column.comparison is None:
        return ""
    word = column.comparison.verdict
    return f"[{STYLES[word]}]{word}[/]" if STYLES[word] else word


def interval(column: Column) -> str:
    """The ratio with its 95 % interval."""
    ratio = column.comparison
    if ratio is None:
        return "no baseline"
    return f"{factor(ratio.ratio)} [{format_end(ratio.low)}, {format_end(ratio.high)}]".replace("[", r"\[")


def largest(column: Column) -> str:
    """The largest error of all quantities, over the truth's RMS."""
    found = [e["max"] for e in column.errors.values() if e["max"] is not None]
    return f"{max(found):.1e}" if found else ""


def size(column: Column, name: str) -> str:
    """A peak of memory."""
    found = column.probe.get(name)
    return "" if found is None else as_gib(found)


def what_ran(column: Column) -> str:
    """The operators that took the time."""
    rows = [row for row in column.probe.get("operators", []) if row["share"] >= SHARE]
    names = [row["operator"].removeprefix("aten::") for row in rows]
    rest = f", {len(names) - NAMED} more" if len(names) > NAMED else ""
    compiled = compile_time(column)
    words = [", ".join(names[:NAMED]) + rest] + ([f"compiled in {duration(compiled)}"] if compiled > 1.0 else [])
    words += [f"{column.outliers} outliers"] if column.outliers else []
    words += [] if column.settled else ["still warming up"]
    return "; ".join(w for w in words if w)


def compile_time(column: Column) -> float:
    """What the first call took beyond the second."""
    return max(0.0, float(column.probe.get("first", 0.0)) - float(column.probe.get("second", 0.0)))
