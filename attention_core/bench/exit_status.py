"""The exit status of `attention-core bench`, and a line for everything that made it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from attention_core.bench.conventions import PYTHON, verify_words, with_convention
from attention_core.bench.report.numbers import factor

if TYPE_CHECKING:
    from attention_core.bench.report.results import Results


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
    for name in asked:  # a gate in CI names its kernel and must know that nothing was measured
        columns = [cell.kernels[name] for cell in results.cells if name in cell.kernels]
        if columns and all(column.status in ("cannot", "unavailable") for column in columns):
            console.print(escape(f"{name} was not timed: {columns[0].message}"), highlight=False, soft_wrap=True)
            status = status or 2
    if any(told.get("stale") for told in results.verdicts.values()):  # told with the verdict: the list is strict
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
        return f"{name} against the gate of {gate:g}: undecided, {factor(ratio.ratio)}; give it more --seconds", 0
    return "", 0


def way_out(name: str, results: Results) -> str:
    """What the author of a refuted kernel can do: declare a convention, or look at the smallest cases."""
    verdict = results.verdicts.get(name, {})
    if verdict.get("verdict") != "refuted" or name.startswith("auto"):
        return ""  # wrong on these inputs alone, which `verify` does not draw; or no target that it takes
    sentences = [f"; {declare_in_hint(name, line)}" for line in verdict.get("hint", "").splitlines()]
    hints = "".join(sentences).replace(";", ":", 1)
    return f"{hints}; `attention-core verify {verify_words(name)}` shows its smallest cases"


def declare_in_hint(name: str, hint: str) -> str:
    """A hint of the suite, with how the kernel is named if the conventions in it are meant."""
    fields = ",".join(f"{a.replace('-', '_')}={b}" for a, b in re.findall(r"--([a-z-]+) (\w+(?:,\w+)*)", hint))
    hint = PYTHON.sub("", hint)
    return f"{hint}; if that is meant, name it {with_convention(name, fields)}" if fields else hint
