"""How time and memory grow with the length: the exponent a of value ~ n^a, with its interval.

A straight line is fitted to the logarithms over the longest lengths, where the costs of a call's start no longer
count. The interval is Student's: it holds what the line does not explain, so that a bend widens it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from attention_core.bench.report.results import Cell, Results
from attention_core.bench.timing.statistics import SHOWN, Interval

SPAN = 16
"""Lengths from the longest down to this fraction of it are fitted."""
LEAST_POINTS = 3
QUANTITIES = ("time", "allocator", "process")


@dataclass(frozen=True)
class Series:
    """One kernel over the lengths of otherwise equal workloads.

    Args: workload, in words, without its length; kernel; n, keys; values, by quantity: seconds and bytes, NaN where
    unknown; ends, the 95 % intervals of the seconds, None where unknown.
    """

    workload: str
    kernel: str
    n: tuple[int, ...]
    values: Mapping[str, tuple[float, ...]]
    ends: tuple[tuple[float, float] | None, ...]

    def exponent(self, quantity: str) -> Interval | None:
        """The growth of a quantity, or None with fewer than three lengths."""
        return exponent(self.n, self.values[quantity])


def exponent(n: Sequence[float], values: Sequence[float], confidence: float = SHOWN) -> Interval | None:
    """The exponent a of values ~ n^a over the longest lengths, by least squares on the logarithms.

    Args: n, lengths; values, positive ones count. Returns: its interval, or None with fewer than three points.
    Example:
        >>> round(exponent([1, 2, 4], [3, 12, 48]).value, 6)
        2.0
    """
    points = [(math.log(a), math.log(b)) for a, b in zip(n, values, strict=True) if b > 0 and a * SPAN >= max(n)]
    if len({x for x, _ in points}) < LEAST_POINTS:
        return None
    x, y = np.array(points).T
    x = x - x.mean()
    slope = float((x * y).sum() / (x * x).sum())
    rest = y - y.mean() - slope * x
    freedom = len(points) - 2
    half = student(confidence, freedom) * math.sqrt(float((rest**2).sum()) / freedom / float((x * x).sum()))
    return Interval(slope, slope - half, slope + half)


def student(confidence: float, freedom: int) -> float:
    """The t with P(|T| <= t) = confidence, by bisection of Student's distribution of whole degrees of freedom.

    Source: Abramowitz and Stegun, Handbook (1964), 26.7.3 and 26.7.4.
    """
    low, high = 0.0, 1.0
    while inside(high, freedom) < confidence:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if inside(middle, freedom) < confidence else (low, middle)
    return high


def inside(t: float, freedom: int) -> float:
    """P(|T| <= t) of Student's distribution."""
    angle = math.atan(t / math.sqrt(freedom))
    term = math.cos(angle) if freedom % 2 else 1.0
    total = term if freedom > 1 or freedom % 2 == 0 else 0.0
    for k in range(3 if freedom % 2 else 2, freedom - 1, 2):
        term *= (k - 1) / k * math.cos(angle) ** 2
        total += term
    found = math.sin(angle) * total
    return 2 / math.pi * (angle + found) if freedom % 2 else found


def series_of(results: Results) -> list[Series]:
    """Every kernel's series over the lengths of otherwise equal workloads, those of at least two lengths."""
    families: dict[str, list[Cell]] = {}
    for cell in results.cells:
        families.setdefault(family(cell), []).append(cell)
    found = []
    for words, cells in families.items():
        cells = sorted(cells, key=lambda c: c.workload.n_kv)
        for kernel in dict.fromkeys(name for cell in cells for name in cell.kernels):
            timed = [(c.workload.n_kv, c.kernels[kernel]) for c in cells if kernel in c.kernels]
            timed = [(n, column) for n, column in timed if column.seconds is not None]
            if len({n for n, _ in timed}) < 2:
                continue
            values = {"time": tuple(float(column.seconds or math.nan) for _, column in timed)}
            for name in ("allocator", "process"):
                values[name] = tuple(float(column.probe.get(name) or math.nan) for _, column in timed)
            ends = tuple(column.ends for _, column in timed)
            found.append(Series(words, kernel, tuple(n for n, _ in timed), values, ends))
    return found


def family(cell: Cell) -> str:
    """A workload in words, without its length."""
    w = cell.workload
    square = "n_q=1, n_kv=n" if w.n_q == 1 and w.n_kv > 1 else "n_q=n_kv=n" if w.n_q == w.n_kv else f"n_q={w.n_q}"
    label = w.label.rpartition(" ")[0] if w.label.rpartition(" ")[2].isdecimal() else w.label
    words = replace(w, n_q=1, n_kv=1, mask=type(w.mask)(), label=label).name().replace("n=1 ", f"{square} ")
    return f"{words} mask {w.mask}" if w.mask.parts else words
