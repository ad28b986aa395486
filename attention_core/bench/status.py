"""The exit status of `attention-core bench`, and a line for everything that made it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attention_core.bench.results import Results


def status_of(results: Results, gate: float | None, console: Any, asked: tuple[str, ...] = ()) -> int:
    """The exit status, with a line for everything that made it; `asked`, the kernels that were named."""
    from rich.markup import escape

    status = 0
    for cell in results.cells:
        for name, column in cell.kernels.items():
            line, found = judge_column(name, column, cell.baseline, gate)
            line += way_out(name, results) if column.status == "refuted" else ""
            status = 1 if 1 in (status, found) else max(status, found)
            if line:
                console.print(escape(f"{cell.workload.name()}: {line}"), highlight=False, soft_wrap=True)
    for name in asked:  # whoever names a kernel, as a gate in CI does, wants to hear that nothing was measured
        columns = [cell.kernels[name] for cell in results.cells if name in cell.kernels]
        if columns and all(column.status in ("cannot", "unavailable") for column in columns):
            console.print(escape(f"{name} was not timed: {columns[0].message}"), highlight=False, soft_wrap=True)
            status = status or 2
    return status


def judge_column(name: str, column: Any, baseline: str, gate: float | None) -> tuple[str, int]:
    """What one kernel does to the exit status, and the line that says so."""
    if column.status == "refuted":
        return f"{name} is refuted and was not timed", 1
    if column.status == "failed":
        return f"{name} failed: {column.message}", 2
    if gate is None or name == baseline or column.status != "timed":
        return "", 0
    ratio = column.comparison
    if ratio is None:
        return f"{name} has no ratio, as {baseline} was not timed", 2
    if ratio.low is not None and ratio.low > gate:
        return f"{name} takes {ratio.ratio:.3f} times {baseline}, beyond the gate of {gate:g}", 1
    if ratio.high is None or ratio.high > gate:
        return f"{name} against the gate of {gate:g}: undecided, {ratio.ratio:.3f}; give it more --seconds", 0
    return "", 0


def way_out(name: str, results: Results) -> str:
    """What the author of a refuted kernel can do: declare a convention, or look at the smallest cases."""
    told = results.verdicts.get(name, {})
    if told.get("verdict") != "refuted" or name.startswith("auto"):
        return ""  # wrong on these inputs alone, which `verify` does not draw; or no target that it takes
    hint = told.get("hint", "")
    fields = ",".join(f"{a.replace('-', '_')}={b}" for a, b in re.findall(r"--([a-z-]+) (\w+)", hint))
    join = "," if "@" in name else "@"
    declared = f": {hint}; if that is meant, name it {name}{join}{fields}" if fields else ""
    target, _, given = name.partition("@")
    options = "".join(f" --{a.replace('_', '-')} {b}" for a, _, b in (f.partition("=") for f in given.split(",") if f))
    return f"{declared}; `attention-core verify {target}{options}` shows its smallest cases"
