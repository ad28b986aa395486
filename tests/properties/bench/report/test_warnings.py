"""Times below the machine's limit.

A time that no kernel can have is told below its cell, wherever results are shown; a fast exponential is no reason.
"""

from __future__ import annotations

import io
from html import escape
from typing import Any

import pytest
from rich.console import Console

from attention_core.bench.report.render_html import to_html
from attention_core.bench.report.render_markdown import to_markdown
from attention_core.bench.report.render_text import print_results
from attention_core.bench.report.results import Cell, Column, Results
from attention_core.bench.report.warnings import ALLOWED, doubts
from attention_core.bench.timing.roofline import Roofline
from attention_core.bench.workloads.workload import Workload

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
