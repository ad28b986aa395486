"""The figures at the head of docs/benchmark_figures.md.

experiments/bench_grid: the figures that its page is asked for, of results that are made up, reached and not reached.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from attention_core.bench.report.render_markdown import to_markdown
from attention_core.bench.report.results import Cell, Column, Results
from attention_core.bench.timing.statistics import compare
from attention_core.bench.workloads.masks import read_mask
from attention_core.bench.workloads.workload import Workload

SCRIPT = Path(__file__).parents[3] / "experiments" / "bench_grid" / "asked.py"
LIST = {"n_q": 4096, "n_kv": 4096}


@pytest.fixture(scope="module")
def grid() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_grid_asked", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def cell(workload: Workload, rms: float = 1e-7, **times: float) -> Cell:
    """Kernels with these seconds, beside a baseline of `base` seconds; `half` stands for the class of half accuracy."""
    names = {"auto": "auto", "base": "torch:default", "other": "torch:math", "half": "auto:core:half_accuracy"}
    noise = np.exp(np.random.default_rng(0).normal(0, 1e-3, (40, 2)))
    base = times["base"] * noise
    columns = {}
    for short, seconds in times.items():
        samples = seconds * noise
        errors = {"out": {"rms": 2 * rms if short == "half" else rms}}
        columns[names[short]] = Column(
            "timed", seconds=seconds, comparison=compare(samples, base), share=0.5, errors=errors,
            samples=samples.tolist(), probe={"allocator": 16.0 * workload.n_kv},
        )  # fmt: skip
    return Cell(workload, "torch:default", columns, 1e-4, "exp")


def results(*cells: Cell) -> Results:
    return Results({}, {}, {}, cells=list(cells))


def lines(text: str) -> dict[str, list[str]]:
    """The rows of a table by their first column."""
    rows = [[part.strip() for part in line.strip("|").split("|")] for line in text.splitlines()[2:]]
    return {row[0]: row[1:] for row in rows}


def test_all_that_is_asked_is_reached(grid: ModuleType) -> None:
    found = {
        "models": results(cell(Workload(), base=1e-3, auto=1e-3, half=5e-4)),
        "masks": results(
            cell(Workload(**LIST, mask=read_mask("window:256")), base=1e-1, auto=1e-2),
            cell(Workload(**LIST, mask=read_mask("segments:8")), base=1e-1, auto=4e-2),
        ),
        "decoding": results(cell(Workload(n_q=1, n_kv=4096, dtype="bfloat16"), base=1e-2, auto=1e-3)),
        "fallback": results(cell(Workload(form="3d"), base=1e-3, auto=4e-4)),
        "growth": results(*(cell(Workload(n_q=n, n_kv=n), base=1e-4, auto=1.02e-4) for n in (64, 128, 256))),
    }
    told = lines(grid.asked(found))
    stated = {name for name, row in told.items() if row[2] != "yes"}
    assert stated == {
        "core:half_accuracy, by name, on the models", "share of the measured limit that auto reaches"
    }  # fmt: skip
    assert {told[name][2] for name in stated} == {"-"}
    assert told["window of 256 at n = 4096, the least"][1].startswith("10.00x")
    assert told["core:half_accuracy, by name, on the models"][1].startswith("2.00x to 2.00x at 2.0 to 2.0")
    assert told["where torch falls back without a word, fwd, the least"][1].startswith("2.50x")
    assert told["elsewhere, the most that auto adds"][1].startswith("2 µs")
    assert any("n^1.00" in row[1] for row in told.values())


def test_what_is_missed_is_said(grid: ModuleType) -> None:
    workload = Workload(**LIST, mask=read_mask("window:256"))
    found = {
        "masks": results(cell(workload, base=1e-3, auto=1.1e-3, other=9e-4)),
        "models": results(cell(Workload(), base=1e-4, auto=1.1e-4)),
        "brief": results(cell(Workload(n_q=64, n_kv=64), base=2e-5, auto=2.4e-5)),
        "fallback": results(
            cell(Workload(form="3d"), base=1e-4, auto=4e-5),
            cell(Workload(form="3d", direction="bwd"), base=3e-4, auto=2e-4),
        ),
    }
    told = lines(grid.asked(found))
    missed = {name for name, row in told.items() if row[2] == "NO"}
    assert missed == {
        "over torch's default, geometric mean of 2 cells", "window of 256 at n = 4096, the least",
        "where torch takes 200 µs or more, the least", "elsewhere, the most that auto adds",
        "within 3 % of the best kernel of the same accuracy", "where torch falls back without a word, bwd, the least",
    }  # fmt: skip
    fell = told["where torch falls back without a word, bwd, the least"][1]
    assert fell.startswith("1.50x") and fell.endswith("; 3.0x at the limit of the machine")
    nearest = told["within 3 % of the best kernel of the same accuracy"][1]
    assert nearest.startswith("3 of 5 cells; not: ") and "torch:math, auto takes 1.22" in nearest
    assert told["over torch's default, geometric mean of 2 cells"][1] == "1.17x"  # of 1 / 1.1 and of 3 / 2


def test_memory_that_grows_faster_than_a_line_is_not_enough(grid: ModuleType) -> None:
    cells = [cell(Workload(n_q=n, n_kv=n), base=1e-4, auto=1e-4) for n in (64, 128, 256)]
    for one in cells:
        one.kernels["auto"].probe["allocator"] = float(one.workload.n_kv**2)
    (row,) = grid.memory({"growth": results(*cells)})
    assert row[2:] == ("n^2.00 [2.00, 2.00]", "NO")


def test_a_kernel_of_less_accuracy_is_no_rival(grid: ModuleType) -> None:
    one = cell(Workload(), base=1e-3, auto=1e-3, half=5e-4)
    assert [name for name, _ in grid.rivals(one)] == ["torch:default"]


def test_nothing_measured_is_no_table(grid: ModuleType) -> None:
    broken = Cell(Workload(), "torch:default", {"auto": Column("failed", "it died")})
    assert grid.asked({"models": results(broken)}) == ""


def test_a_noisy_kernel_does_not_hide_that_another_is_faster(grid: ModuleType) -> None:
    """torch:math is 8 % faster for certain; the other has a larger ratio and an interval that holds 1."""
    one = cell(Workload(), base=1.2e-3, auto=1e-3, other=1e-3 / 1.08, half=9e-4)
    half = one.kernels["auto:core:half_accuracy"]
    half.errors = one.kernels["auto"].errors
    noise = np.exp(np.where(np.arange(40) % 2, 0.3, -0.6))[:, None]
    half.samples = (9e-4 * noise * np.ones((40, 2))).tolist()
    (told,) = grid.behind({"x": results(one)})
    assert "torch:math, auto takes 1.08" in told
    del one.kernels["torch:math"]
    assert grid.behind({"x": results(one)}) == []


@pytest.fixture(scope="module")
def tables() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_grid_tables", SCRIPT.with_name("tables.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_a_page_has_a_row_a_workload_and_the_data_has_all_of_them(tables: ModuleType, tmp_path: Path) -> None:
    cells = [cell(Workload(n_q=n, n_kv=n), base=2e-3, auto=1e-3, other=4e-3) for n in (64, 128)]
    markdown = to_markdown(Results({}, {}, {}, cells=cells))
    found, left = tables.split(markdown + "\nA doubt about one of them.\n")
    assert [table.workload for table in found] == [one.workload.name() for one in cells]
    assert left == "A doubt about one of them."
    lines = tables.summary(found).splitlines()
    assert len(lines) == 4 and "| 2 ms | 1 ms | 0.500 [" in lines[2] and "FASTER | `auto` 1 ms | 50% |" in lines[2]
    tables.write(tmp_path / "data" / "all.csv", {"models": found})
    rows = (tmp_path / "data" / "all.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 7 and rows[0].startswith("section,workload,limit,kernel,time,ratio")
    assert rows[1].startswith(f"models,{cells[0].workload.name()},") and ",auto,1 ms," in rows[1]


def test_pages_of_figures_are_read_in_two_minutes() -> None:
    docs = SCRIPT.parents[2] / "docs"
    for page in docs.glob("benchmark_figures*.md"):
        assert len(page.read_text(encoding="utf-8").splitlines()) < 200, page.name
        assert (docs / "data" / f"{page.stem}.csv").exists()
