"""What a run found: cells with one column a kernel, and their JSON, which is also what a run resumes from.

The schema is described in docs/benchmarks.md; it changes only together with `SCHEMA_VERSION`.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from attention_core.bench.statistics import VERDICTS, Comparison
from attention_core.bench.workload import Workload
from attention_core.conformance.implementation import TargetError

SCHEMA_VERSION = 1
KIND = "attention-core bench"
STATUSES = ("timed", "refuted", "cannot", "unavailable", "failed")
"""timed; refuted by the suite or on the very inputs; its declarations exclude the cell; it is not there on this
machine; it raised, died or hung."""


@dataclass
class Column:
    """One kernel in one cell.

    Args: status, one of `STATUSES`; message, why it is not timed; seconds, the median of a call, with low and high;
        comparison, with the baseline's time (None for the baseline's own absence); errors, by quantity; probe,
        operators, compile time and memory; outliers, samples far above the median (kept); share, of the machine's
        limit (1 = at it); samples, seconds a call, (blocks, 2); inner, calls a sample; warm_up, samples before;
        settled, whether it ended.
    """

    status: str
    message: str = ""
    seconds: float | None = None
    low: float | None = None
    high: float | None = None
    comparison: Comparison | None = None
    share: float | None = None
    outliers: int = 0
    errors: dict[str, Any] = field(default_factory=dict)
    probe: dict[str, Any] = field(default_factory=dict)
    inner: int = 0
    first: float | None = None
    warm_up: list[float] = field(default_factory=list)
    settled: bool = True
    samples: list[list[float]] = field(default_factory=list)

    @property
    def ratio(self) -> Comparison | None:
        """Time over the baseline's; None where either was not timed."""
        return self.comparison

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
    limit: float | None = None
    binding: str = ""
    resolution: float = 0.0


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
    verdicts: dict[str, dict[str, str]] = field(default_factory=dict)
    cells: list[Cell] = field(default_factory=list)

    def cell(self, workload: Workload) -> Cell | None:
        """The finished cell of a workload."""
        return next((c for c in self.cells if c.workload.key() == workload.key()), None)

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
        """The inverse of `to_dict`. Raises: TargetError for what is no file of results of this version."""
        if data.get("kind") != KIND or data.get("schema_version") != SCHEMA_VERSION:
            raise TargetError(f"it is no file that `attention-core bench --json` of this version wrote ({KIND})")
        try:
            cells = [_cell(c) for c in data["cells"]]
            rest = {f.name: _kind(f.name, data[f.name], dict) for f in fields(Results) if f.name != "cells"}
            for told in rest["verdicts"].values():
                for name in ("verdict", "reason"):
                    _kind(name, told[name], str)
            if rest["limits"]:
                for name, kind in (("flops", dict), ("exponentials", float | int), ("bandwidth", dict)):
                    _kind(name, rest["limits"][name], kind)
            return Results(**rest, cells=cells)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise TargetError(f"its cells cannot be read ({type(error).__name__}: {error})") from error


def _plain(cell: Cell) -> dict[str, Any]:
    return {k: v for k, v in asdict(cell).items() if k != "workload"}


def _kind(name: str, value: Any, kind: Any) -> Any:
    """The value. Raises: TypeError where it is of another kind."""
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{name} is {str(value)[:40]!r}")
    return value


def _column(data: Mapping[str, Any]) -> Column:
    """A column whose numbers are numbers: what is shown of it later must not fail then."""
    ratio = data["comparison"]
    number, maybe = float | int, float | int | None
    if data["status"] not in STATUSES:
        raise ValueError(f"status is {str(data['status'])[:40]!r}")
    for name in ("seconds", "low", "high", "share", "first"):
        _kind(name, data[name], maybe)
    if data["status"] == "timed":
        _kind("seconds", data["seconds"], number)
    for name in ("errors", "probe"):
        _kind(name, data[name], dict)
    for told in data["errors"].values():
        for name in ("rms", "max"):
            _kind(name, told[name], maybe)
    for row in data["probe"].get("operators", []):
        _kind("operator", row["operator"], str), _kind("share", row["share"], number)
    for name in ("first", "second", "process", "allocator"):
        _kind(name, data["probe"].get(name), maybe)
    if ratio is not None:
        for name, value in ratio.items():
            _kind(name, value, str if name == "verdict" else number if name == "ratio" else maybe)
        if ratio["verdict"] not in VERDICTS:
            raise ValueError(f"verdict is {ratio['verdict'][:40]!r}")
    return Column(**{**data, "comparison": None if ratio is None else Comparison(**ratio)})


def _cell(data: Mapping[str, Any]) -> Cell:
    columns = {name: _column(column) for name, column in data["kernels"].items()}
    _kind("limit", data["limit"], float | int | None), _kind("binding", data["binding"], str)
    return Cell(**{**data, "workload": Workload.from_json(data["workload"]), "kernels": columns})


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
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TargetError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise TargetError(f"{path} is not JSON: {error}") from error
    if not isinstance(data, dict):
        raise TargetError(f"{path} holds no results")
    try:
        return Results.from_dict(data)
    except TargetError as error:
        raise TargetError(f"{path}: {error}") from error


def beside(path: Path) -> Path:
    """Where a file is written before it takes its name. Example: beside(Path("r.json")).parent is Path(".")."""
    return path.with_name(f".{path.name}.{os.getpid()}.part")


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all, so that an interruption leaves the last complete one.

    Raises: TargetError: it cannot be written.
    """
    part = beside(path)
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        raise TargetError(f"{path} cannot be written: {error.strerror}") from error
