"""Results of benchmarks.

Results as JSON and back, and files that hold none or were changed.

Times below the machine's limit.

A time that no kernel can have is told below its cell, wherever results are shown; a fast exponential is no reason.
"""

from __future__ import annotations

import io
import json
import math
from html import escape
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from attention_core.bench.report.render_html import to_html
from attention_core.bench.report.render_markdown import to_markdown
from attention_core.bench.report.render_text import print_results
from attention_core.bench.report.results import ALLOWED, Cell, Column, Results, doubts, read_results
from attention_core.bench.timing.roofline import Roofline
from attention_core.bench.timing.statistics import Comparison
from attention_core.bench.workloads.workload import Workload
from attention_core.declaration.implementation import TargetError


def example() -> Results:
    ratio = Comparison(1.5, 1.4, 1.6, 1.5, 20, 18.0, "SLOWER")
    timed = Column("timed", seconds=1e-3, low=9e-4, high=1.1e-3, comparison=ratio, share=0.5,
                   errors={"out": {"rms": 1e-7, "max": 1e-6}, "key": {"rms": 2e-7, "max": 1e-6}}, samples=[[1e-3, 1.1e-3]])  # fmt: skip
    cell = Cell(
        Workload(n_q=4, n_kv=4), "base", {"k": timed, "wrong": Column("refuted", "on these inputs")}, 1e-4, "exp"
    )
    return Results({"processor": "p"}, {"python": "3"}, {"seconds": 1.0}, {"flops": {"float32": 1.0}, "exponentials": 2.0, "bandwidth": {"1": 1.0}},
                   {name: {"verdict": "conforms", "reason": ""} for name in ("k", "wrong")}, [cell])  # fmt: skip


def test_json_comes_back() -> None:
    found = Results.from_dict(json.loads(example().to_json()))
    assert found == example()
    assert found.cell(Workload(n_q=4, n_kv=4)) == found.cells[0]
    assert found.cell(Workload(n_q=5, n_kv=5)) is None


def test_the_error_shown_is_the_largest() -> None:
    assert example().cells[0].kernels["k"].rms == 2e-7
    assert Column("cannot").rms is None


def test_infinite_ends_are_null() -> None:
    results = example()
    results.cells[0].kernels["k"].comparison = Comparison(1.5, 0.0, math.inf, 1.5, 3, 3.0, "AMBIGUOUS")
    text = results.to_json()
    assert "Infinity" not in text
    read = Results.from_dict(json.loads(text)).cells[0].kernels["k"].comparison
    assert read is not None and read.high is None


BAD = {
    "not json": "is not JSON",
    "[]": "holds no results",
    "{}": "it was not written by `attention-core bench --json` of this version",
    '{"kind": "attention-core bench", "schema_version": 99}': "of this version",
    '{"kind": "attention-core bench", "schema_version": 1}': "cannot be read: it lacks 'machine'",
    '{"kind": "attention-core bench", "schema_version": true}': "of this version",
    '{"kind": "attention-core bench", "schema_version": 1, "cells": [3], "machine": {}, "versions": {}, "settings": {}, "limits": {}, "verdicts": {}}': "cannot be read: cells[0] is 3, and should be an object",
}


@pytest.mark.parametrize("text", BAD)
def test_files_that_hold_no_results(text: str, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(TargetError) as found:
        read_results(path)
    assert BAD[text] in str(found.value)
    assert str(found.value).startswith(str(path))


def test_a_workload_edited_by_hand_is_told(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(example().to_json().replace('"H_kv": 8', '"H_kv": 3'))
    with pytest.raises(TargetError, match="not a multiple of H_kv=3"):
        read_results(path)


CHANGES: list[tuple[str, Any]] = [
    ("cells.0.kernels.k.message", 3),
    ("cells.0.kernels.k.message", None),
    ("cells.0.kernels.k.status", "done"),
    ("cells.0.kernels.k.seconds", "soon"),
    ("cells.0.kernels.k.seconds", None),
    ("cells.0.kernels.k.seconds", 10**400),
    ("cells.0.kernels.k.seconds", 0),
    ("cells.0.kernels.k.seconds", -1.0),
    ("cells.0.kernels.k.seconds", True),
    ("cells.0.kernels.k.share", -0.5),
    ("cells.0.kernels.k.errors.out.rms", []),
    ("cells.0.kernels.k.errors.out.rms", -1e-7),
    ("cells.0.kernels.k.errors.out", {}),
    ("cells.0.kernels.k.probe.first", None),
    ("cells.0.kernels.k.probe.second", None),
    ("cells.0.kernels.k.probe.operators", [{"operator": "x"}]),
    ("cells.0.kernels.k.comparison.ratio", None),
    ("cells.0.kernels.k.comparison.ratio", -1.5),
    ("cells.0.kernels.k.comparison.ratio", 0),
    ("cells.0.kernels.k.comparison.verdict", "SLOW"),
    ("cells.0.kernels.k.comparison.blocks", 10**400),
    ("cells.0.kernels.k.samples", [3]),
    ("cells.0.kernels.k.unknown", 1),
    ("cells.0.kernels.another", {}),
    ("cells.0.kernels", 3),
    ("cells.0.baseline", 3),
    ("cells.0.binding", {}),
    ("cells.0.limit", 0),
    ("cells.0.workload.label", 7),
    ("cells.0.workload.label", "\udcff"),
    ("cells.0.workload.seed", -4),
    ("cells.0.workload.n_q", 10**400),
    ("cells.0.workload.n_kv", 4.0),
    ("cells.0.workload.H_kv", 3),
    ("cells.0.workload.mask", 3),
    ("cells.0.workload.mask", "+".join(["causal"] * 5000)),
    ("verdicts.k.verdict", 3),
    ("verdicts.k.verdict", "fine"),
    ("verdicts.k.hint", 3),
    ("verdicts", {"k": {"verdict": "conforms", "reason": ""}}),
    ("limits.flops", "x"),
    ("limits.flops", {"float32": 0}),
    ("limits.exponentials", "2"),
    ("limits.bandwidth", {}),
    ("limits.bandwidth", {"x": 1.0}),
    ("limits.bandwidth", {"1": -1.0}),
    ("limits", {"flops": {}}),
    ("versions.python", 3),
    ("settings", []),
    ("settings.seconds", math.nan),
    ("machine.processor", "\udcff"),
]


@pytest.mark.parametrize(("where", "value"), CHANGES)
def test_a_file_that_somebody_changed_is_told(where: str, value: Any, tmp_path: Path) -> None:
    """What is shown of it at the end of a run of hours must not fail then."""
    data = json.loads(example().to_json())
    *path, last = where.split(".")
    inner: Any = data
    for name in path:
        inner = inner[int(name) if name.isdecimal() else name]
    inner[last] = value
    (tmp_path / "r.json").write_text(json.dumps(data))
    with pytest.raises(TargetError, match=r"r\.json cannot be read: ") as found:
        read_results(tmp_path / "r.json")
    assert len(str(found.value)) < 600 + len(str(tmp_path)) and "\n" not in str(found.value)


def test_a_cell_that_is_there_twice_is_told(tmp_path: Path) -> None:
    results = example()
    results.cells.append(results.cells[0])
    results.cells = [*results.cells, *Results.from_dict(json.loads(example().to_json())).cells]
    (tmp_path / "r.json").write_text(results.to_json())
    with pytest.raises(TargetError, match=r"the cell B=1 H=8 n=4 d=64 float32 fwd is there twice"):
        read_results(tmp_path / "r.json")


def test_a_cell_takes_the_place_of_the_earlier_one() -> None:
    results = example()
    other = Cell(Workload(n_q=5, n_kv=5), "base", {})
    again = Cell(Workload(n_q=4, n_kv=4), "base", {})
    results.keep(other)
    results.keep(again)
    assert [cell is kept for cell, kept in zip(results.cells, (again, other), strict=True)] == [True, True]


def test_an_error_that_is_not_finite_comes_back() -> None:
    results = example()
    results.cells[0].kernels["k"].errors["out"] = {"rms": math.inf, "max": math.inf}
    column = Results.from_dict(json.loads(results.to_json())).cells[0].kernels["k"]
    assert column.rms == 2e-7


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="cannot be read: No such file"):
        read_results(tmp_path / "nothing.json")


WORK = Workload(B=1, H=1, n_q=100, n_kv=100, d=50)
"""2 MFLOP, 10^4 exponentials, 80 kB."""


def limits(flops: float = 1e12, exponentials: float = 1e12, bandwidth: float = 1e12, **more: float) -> dict[str, Any]:
    return {"flops": {"float32": flops, **more}, "exponentials": exponentials, "bandwidth": {"1": bandwidth}}


def cell(seconds: float, work: Workload = WORK) -> Cell:
    errors = {"out": {"rms": 1e-7, "max": 1e-6}}
    timed = {"base": 1.0, "k[1]": seconds}
    kernels = {name: Column("timed", seconds=s, errors=errors) for name, s in timed.items()} | {"no": Column("cannot")}
    return Cell(work, "base", kernels)


@pytest.mark.parametrize("binds", [limits(flops=2e9), limits(bandwidth=8e7)])
def test_a_time_below_what_products_or_bytes_take_is_told(binds: dict[str, Any]) -> None:
    """Either takes a millisecond here."""
    assert doubts(cell(1.01e-3 / ALLOWED), binds) == []
    (line,) = doubts(cell(1e-5), binds)
    assert line.startswith(
        "k[1] cannot be believed: 10 µs is 100 times less than the 1 ms that products and bytes alone"
    )
    assert line.endswith("it leaves work out, or keeps an answer from an earlier call")


def test_exponentials_may_be_faster_than_torchs() -> None:
    assert doubts(cell(1e-5), limits(exponentials=1e7)) == []


def test_half_precision_may_be_computed_in_float32() -> None:
    half = Workload(B=1, H=1, n_q=100, n_kv=100, d=50, dtype="float16")
    assert len(doubts(cell(1e-5, half), limits(flops=1e9, float16=2e9))) == 1
    assert doubts(cell(1e-5, half), limits(flops=1e12, float16=2e9)) == []
    assert Roofline.from_json(limits(flops=1e9, float64=1e6)).without_exponentials(WORK) == pytest.approx(2e-3)


def test_what_was_not_measured_is_no_reason() -> None:
    assert doubts(cell(1e-9), {}) == []
    assert doubts(cell(1e-9, Workload(dtype="bfloat16")), limits()) == []


def test_it_stands_below_the_cell_wherever_results_are_shown() -> None:
    results = Results({}, {}, {}, limits(flops=2e9), {}, [cell(1e-5), cell(1e-2, Workload(B=1, H=1, n_q=2, n_kv=2))])
    (line,) = doubts(results.cells[0], results.limits)
    stream = io.StringIO()
    print_results(Console(file=stream, width=400), results)
    assert stream.getvalue().splitlines().count(line) == 1
    assert line in to_markdown(results).splitlines()
    assert to_html(results).count(escape(line)) == 1
