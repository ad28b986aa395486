"""The table of figures at the head of docs/benchmark_figures.md.

What the grid is asked, figure by figure: how `auto` stands beside torch's default and beside the best of its class.
Every number is of samples that were interleaved in one run; nothing is taken from two runs or two processes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from attention_core.bench.report.growth import series_of
from attention_core.bench.report.number_words import duration, format_end
from attention_core.bench.report.render_markdown import table
from attention_core.bench.report.results import Cell, Results
from attention_core.bench.timing.statistics import Comparison, compare

AUTO, HALF = "auto", "auto:core:half_accuracy"
CLASS = 1.2
"""Kernels whose RMS error is within this factor of auto's are of its class."""
NEAR = 1.03
"""Auto may take this much of the best kernel of its class."""
LONG = 200e-6
"""From this time of the baseline on, auto may lose 3 %; below it, where a ratio says what a call costs and not what
attention does, `ADDED` seconds."""
LOST, ADDED = 0.97, 5e-6
LINEAR = 1.1
"""An exponent of memory up to this is that of a line: what a call holds beside it bends it a little."""
STATED = "-"
"""Stands where a figure is asked to be stated, and there is nothing to reach."""


@dataclass(frozen=True)
class Speed:
    """How many times as fast auto is as torch's default in one cell, with the interval, and both times in seconds.

    most: how many times as fast it would be at the measured limit of the machine; infinite where that is not known.
    """

    name: str
    value: float
    low: float
    high: float
    base: float
    auto: float
    most: float = math.inf

    def summarize(self) -> str:
        """In one phrase."""
        return f"{self.value:.2f}x [{format_end(self.low)}, {format_end(self.high)}]"


def speeds(results: Mapping[str, Results]) -> dict[str, list[Speed]]:
    """Auto over torch's default, by section; cells where either was not timed are left out."""
    return {name: [s for cell in found.cells if (s := speed(cell))] for name, found in results.items()}


def speed(cell: Cell) -> Speed | None:
    """One cell's."""
    auto, base = cell.kernels.get(AUTO), cell.kernels.get(cell.baseline)
    if auto is None or base is None or auto.comparison is None or auto.seconds is None or base.seconds is None:
        return None
    c = auto.comparison
    low = 1 / c.high if c.high else 0.0
    most = base.seconds / cell.limit if cell.limit else math.inf
    high = 1 / c.low if c.low else math.inf
    return Speed(cell.workload.name(), 1 / c.ratio, low, high, base.seconds, auto.seconds, most)


def rivals(cell: Cell) -> Iterator[tuple[str, Comparison]]:
    """Kernels of auto's class in a cell, with auto's time over theirs (above 1: auto is slower)."""
    auto = cell.kernels.get(AUTO)
    if auto is None or not auto.samples or auto.rms is None:
        return
    for name, column in cell.kernels.items():
        alike = column.rms is not None and column.rms <= CLASS * auto.rms
        if name != AUTO and alike and len(column.samples) == len(auto.samples):
            yield name, compare(np.array(auto.samples), np.array(column.samples))


def behind(results: Mapping[str, Results]) -> list[str]:
    """Cells in which a kernel of the class is more than 3 % before auto, the whole interval saying so.

    It must be `ADDED` seconds before it, too, which are less than 3 % of `LONG`.
    """
    found = []
    for section in results.values():
        for cell in section.cells:
            before = [
                (name, c) for name, c in rivals(cell)
                if c.ratio > NEAR and c.low > 1 and seconds_behind(cell, name) > ADDED
            ]  # fmt: skip
            if before:
                name, c = max(before, key=lambda rival: rival[1].ratio)
                found.append(f"{cell.workload.name()}: {name}, auto takes {c.ratio:.2f} [{c.low:.2f}, {c.high:.2f}]")
    return found


def seconds_behind(cell: Cell, other: str) -> float:
    """How much longer than another kernel auto takes in a cell."""
    auto, best = cell.kernels[AUTO].seconds, cell.kernels[other].seconds
    return 0.0 if auto is None or best is None else auto - best


def mean(values: Sequence[float]) -> float:
    """The geometric mean. Example: mean([1, 4]) is 2."""
    return math.exp(sum(map(math.log, values)) / len(values))


def asked(results: Mapping[str, Results]) -> str:
    """The table: what was asked, what was reached, whether that is enough."""
    by_section = speeds(results)
    cells = [s for found in by_section.values() for s in found]
    if not cells:
        return ""
    long = [s.value for s in cells if s.base >= LONG]
    rows = [row(f"over torch's default, geometric mean of {len(long)} cells", 1.5, [mean(long)])] if long else []

    def least(what: str, wanted: float, section: str, keep: Callable[[str], bool]) -> None:
        chosen = [s for s in by_section.get(section, []) if keep(s.name)]
        if chosen:
            worst = min(chosen, key=lambda s: s.value)
            told = f"{worst.summarize()} ({worst.name})" if len(chosen) > 1 else worst.summarize()
            if worst.value < wanted and worst.most < math.inf:
                told += f"; {worst.most:.1f}x at the limit of the machine"
            rows.append((what, f"{wanted:g}x", told, "yes" if worst.value >= wanted else "NO"))

    least("window of 256 at n = 4096, the least", 4, "masks", lambda n: "window:256" in n)
    least("packed segments at n = 4096, the least", 2, "masks", lambda n: "segments:8" in n)
    least("one query, 32 heads over 8, 4096 keys, bfloat16", 6, "decoding", lambda n: "n_kv=4096" in n and "bf" in n)
    for direction in ("fwd", "bwd"):
        fell = f"where torch falls back without a word, {direction}, the least"
        least(fell, 2, "fallback", lambda n, d=direction: d in n.split())
    rows += [*never_slower(cells), *accuracy_class(results), *half_accuracy(results), *memory(results), limits(results)]
    return table(("figure", "asked", "reached", "enough"), rows)


def row(what: str, wanted: float, values: Sequence[float]) -> tuple[str, str, str, str]:
    """A row for a least factor."""
    return what, f"{wanted:g}x", f"{min(values):.2f}x", "yes" if min(values) >= wanted else "NO"


def never_slower(cells: Sequence[Speed]) -> Iterator[tuple[str, str, str, str]]:
    """The worst cell of those that take long, and the largest addition to those that do not."""
    long, short = [s for s in cells if s.base >= LONG], [s for s in cells if s.base < LONG]
    if long:
        worst = min(long, key=lambda s: s.value)
        enough = "yes" if worst.value >= LOST else "NO"
        yield "where torch takes 200 µs or more, the least", f"{LOST:g}x", f"{worst.summarize()} ({worst.name})", enough
    if short:
        worst = max(short, key=lambda s: s.base / s.value - s.base)
        added = worst.base / worst.value - worst.base
        told = f"{duration(added) if added > 0 else 'nothing'} ({worst.name})"
        yield "elsewhere, the most that auto adds", duration(ADDED), told, "yes" if added <= ADDED else "NO"


def accuracy_class(results: Mapping[str, Results]) -> Iterator[tuple[str, str, str, str]]:
    """Cells in which a kernel of auto's accuracy is faster."""
    found = behind(results)
    number = sum(any(True for _ in rivals(cell)) for section in results.values() for cell in section.cells)
    told = f"{number - len(found)} of {number} cells" + (f"; not: {'; '.join(found)}" if found else "")
    yield "within 3 % of the best kernel of the same accuracy", "all", told, "NO" if found else "yes"


def half_accuracy(results: Mapping[str, Results]) -> Iterator[tuple[str, str, str, str]]:
    """What the class of half the accuracy gives, where it runs on the models."""
    gained, errors = [], []
    for cell in results["models"].cells if "models" in results else []:
        half, base = cell.kernels.get(HALF), cell.kernels.get(cell.baseline)
        if half and base and half.comparison and half.rms and base.rms:
            gained.append(1 / half.comparison.ratio)
            errors.append(half.rms / base.rms)
    if gained:
        told = f"{min(gained):.2f}x to {max(gained):.2f}x at {min(errors):.1f} to {max(errors):.1f} times the error"
        yield "core:half_accuracy, by name, on the models", "offered", told, STATED


def memory(results: Mapping[str, Results]) -> Iterator[tuple[str, str, str, str]]:
    """Exponents of auto's memory over the lengths, for structured masks."""
    for one in series_of(results["growth"]) if "growth" in results else []:
        found = one.exponent("allocator")
        if one.kernel == AUTO and found is not None:
            told = f"n^{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"
            yield f"memory of auto, {one.workload}", "n^1", told, "yes" if found.value <= LINEAR else "NO"


def limits(results: Mapping[str, Results]) -> tuple[str, str, str, str]:
    """The share of the machine's limit that auto reaches."""
    shares = [c.kernels[AUTO].share for r in results.values() for c in r.cells if AUTO in c.kernels]
    known = sorted(s for s in shares if s is not None)
    told = f"{known[0]:.0%} to {known[-1]:.0%}, median {known[len(known) // 2]:.0%}" if known else "not measured"
    return "share of the measured limit that auto reaches", "stated", told, STATED if known else "NO"
