"""What a run found: cells with one column a kernel, and their JSON, which is also what a run resumes from.

The schema is described in docs/benchmarks.md; it changes only together with `SCHEMA_VERSION`.

Times that no kernel can have which does all the work at every call; a sentence says so below their cell.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict

import numpy as np

from attention_core.bench.files import write_text as write_text
from attention_core.bench.json_fields import Count, OneOf, Seconds, Share, parse_value
from attention_core.bench.report.number_words import duration
from attention_core.bench.timing.roofline import Roofline
from attention_core.bench.timing.statistics import Comparison
from attention_core.bench.workloads.workload import Workload
from attention_core.declaration.implementation import TargetError
from attention_core.declaration.json_file import read_json

SCHEMA_VERSION = 1
KIND = "attention-core bench"
STATUSES = ("timed", "refuted", "cannot", "unavailable", "failed")
"""timed; refuted by the suite or on the very inputs; its declarations exclude the cell; it is not there on this
machine; it raised, died or hung."""


class KernelVerdict(TypedDict):
    """A verdict of the suite, as JSON."""

    verdict: Annotated[str, OneOf(("conforms", "refuted", "incomplete", "error"))]
    reason: str
    effort: NotRequired[str]
    source: NotRequired[str]
    hint: NotRequired[str]
    known: NotRequired[str]
    stale: NotRequired[str]


class Error(TypedDict):
    """The error of one quantity, as JSON; None stands for one that is not finite."""

    rms: Share | None
    max: Share | None
    over_bound: NotRequired[Share | None]
    judged: NotRequired[Count]
    of: NotRequired[Count]
    refuted: NotRequired[bool]


class Operator(TypedDict):
    """An operator that ran, as JSON."""

    operator: str
    calls: NotRequired[Count]
    share: Share


class Probe(TypedDict):
    """The answer of a fresh process, as JSON."""

    first: NotRequired[Share]
    second: NotRequired[Share]
    process: NotRequired[float | None]
    allocator: NotRequired[float | None]
    operators: NotRequired[list[Operator]]


@dataclass
class Column:
    """One kernel in one cell.

    Args: status, one of `STATUSES`; message, why it is not timed; seconds, the median of a call, with low and high;
        comparison, with the baseline's time (None for the baseline's own absence); errors, by quantity; probe,
        operators, compile time and memory; outliers, samples far above the median (kept); share, of the machine's
        limit (1 = at it); samples, seconds a call, (blocks, 2); inner, calls a sample; warm_up, samples before;
        settled, whether it ended.
    """

    status: Annotated[str, OneOf(STATUSES)]
    message: str = ""
    seconds: Seconds | None = None
    low: Share | None = None
    high: Share | None = None
    comparison: Comparison | None = None
    share: Share | None = None
    outliers: Count = 0
    errors: Annotated[dict[str, Any], dict[str, Error]] = field(default_factory=dict)
    probe: Annotated[dict[str, Any], Probe] = field(default_factory=dict)
    inner: Count = 0
    first: Share | None = None
    warm_up: list[Share] = field(default_factory=list)
    settled: bool = True
    samples: list[list[Share]] = field(default_factory=list)

    @property
    def ratio(self) -> Comparison | None:
        """Time over the baseline's; None where either was not timed."""
        return self.comparison

    @property
    def ends(self) -> tuple[float, float] | None:
        """The 95 % interval of the seconds; None where an end is not known."""
        low, high = self.low, self.high
        return None if low is None or high is None or not 0 < low <= high < math.inf else (low, high)

    @property
    def rms(self) -> float | None:
        """The largest RMS error among the quantities, relative to the truth's RMS."""
        found = [e["rms"] for e in self.errors.values() if e["rms"] is not None]  # JSON has no infinity
        return max(found) if found else None


@dataclass
class Cell:
    """One workload: kernel -> column; the machine's limit for it in seconds, and what binds it."""

    workload: Workload
    baseline: str
    kernels: dict[str, Column]
    limit: Seconds | None = None
    binding: str = ""
    resolution: Share = 0.0


@dataclass
class Results:
    """A run.

    Args: machine, versions, settings, limits as JSON values; verdicts, kernel -> {"verdict", "reason"}; cells,
    finished ones.
    """

    machine: dict[str, Any]
    versions: dict[str, str]
    settings: dict[str, Any]
    limits: dict[str, Any] = field(default_factory=dict)
    verdicts: Annotated[dict[str, dict[str, str]], dict[str, KernelVerdict]] = field(default_factory=dict)
    cells: list[Cell] = field(default_factory=list)

    def cell(self, workload: Workload) -> Cell | None:
        """The finished cell of a workload."""
        return next((c for c in self.cells if c.workload.key() == workload.key()), None)

    def keep(self, cell: Cell) -> None:
        """A finished cell, in the place of an earlier one of its workload."""
        earlier = self.cell(cell.workload)
        if earlier is None:
            self.cells.append(cell)
        else:
            self.cells[self.cells.index(earlier)] = cell

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        cells = [{**_plain(cell), "workload": cell.workload.to_json()} for cell in self.cells]
        rest = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "cells"}
        return {"schema_version": SCHEMA_VERSION, "kind": KIND, **rest, "cells": cells}

    def to_json(self) -> str:
        """As a JSON text."""
        return json.dumps(_finite(self.to_dict()), indent=1, allow_nan=False) + "\n"

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Results:
        """The inverse of `to_dict`. Raises: TargetError for a file that does not hold results of this version."""
        version = data.get("schema_version")
        if data.get("kind") != KIND or type(version) is not int or version != SCHEMA_VERSION:
            raise TargetError(f"it was not written by `attention-core bench --json` of this version ({KIND})")
        rest = {k: v for k, v in data.items() if k not in ("kind", "schema_version")}
        found: Results = parse_value(Results, rest, "")
        if found.limits:
            parse_value(Roofline, found.limits, "limits")
        for cell in found.cells:
            found.check_cell(cell)
        return found

    def check_cell(self, cell: Cell) -> None:
        """Raises: TargetError where what a file says of a cell does not go together."""
        name = cell.workload.name()
        if self.cell(cell.workload) is not cell:
            raise TargetError(f"the cell {name} is there twice")
        for kernel, column in cell.kernels.items():
            if kernel not in self.verdicts:
                raise TargetError(f"{kernel} of the cell {name} has no verdict")
            if column.status == "timed" and column.seconds is None:
                raise TargetError(f"{kernel} of the cell {name} is timed, and has no seconds")


def _plain(cell: Cell) -> dict[str, Any]:
    return {k: v for k, v in asdict(cell).items() if k != "workload"}


def _finite(value: Any) -> Any:
    """Infinite ends of intervals as None: JSON has no infinity."""
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(k): _finite(v) for k, v in value.items()}
    return [_finite(v) for v in value] if isinstance(value, list | tuple) else value


def read_results(path: Path) -> Results:
    """Results from a file.

    Raises: TargetError: it cannot be read, or is something else.
    """
    data = read_json(path)
    if not isinstance(data, dict):
        raise TargetError(f"{path} holds no results")
    try:
        return Results.from_dict(data)
    except TargetError as error:
        raise TargetError(f"{path} cannot be read: {error}") from error
    except RecursionError:
        raise TargetError(f"{path} cannot be read: it is nested too deeply") from None


ALLOWED = 2.0
"""So many times faster than products and bytes allow is still believed: reading alone goes up to 1.5 times as fast as
copying, by which bandwidth is measured and which also reads what it overwrites; the rest is for the noise of the limit.
No kernel in docs/benchmark_figures*.md comes beyond 0.81; what keeps its answers came to 69."""


def doubts(cell: Cell, limits: Mapping[str, Any]) -> list[str]:
    """A sentence for every kernel whose time is below the machine's limit; `limits` as `Results` holds them.

    Exponentials are left out of this limit: a kernel may have faster ones than torch's.
    """
    if cell.workload.dtype not in limits.get("flops", {}):
        return []
    least = Roofline.from_json(limits).without_exponentials(cell.workload)
    return [
        f"{name} cannot be believed: {duration(column.seconds)} is {least / column.seconds:.3g} times less than the "
        f"{duration(least)} that products and bytes alone take here: it leaves work out, or keeps an answer from an "
        "earlier call"
        for name, column in cell.kernels.items()
        if column.seconds is not None and least > ALLOWED * column.seconds
    ]
