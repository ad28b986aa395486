"""Benchmarks as Markdown.

Markdown tables of results, and whether two runs agree on the order of kernels.
"""

from __future__ import annotations

from attention_core.bench.report.render_markdown import disagreements, escape, to_markdown
from attention_core.bench.report.results import Cell, Column, Results
from attention_core.bench.timing.statistics import Comparison
from attention_core.bench.workloads.workload import Workload


def results(*times: dict[str, float | None]) -> Results:
    cells = []
    for number, kernels in enumerate(times):
        n = 64 * 2**number
        columns = {
            name: Column("timed" if s else "failed", "a | b <c>" if not s else "", s,
                         comparison=Comparison(1.5, 1.4, 1.6, 1.5, 20, 20.0, "SLOWER") if s else None, share=0.25,
                         errors={"out": {"rms": 1e-7}}, probe={"allocator": 1024.0 * n, "operators": [{"operator": "aten::bmm"}]})
            for name, s in kernels.items()
        }  # fmt: skip
        cells.append(Cell(Workload(n_q=n, n_kv=n), "base", columns, 1e-4, "exp"))
    return Results({}, {}, {}, cells=cells)


def test_a_table_a_cell() -> None:
    text = to_markdown(results({"base": 2e-3, "k": 1e-3, "bad": None}))
    lines = text.splitlines()
    assert lines[0] == "**B=1 H=8 n=64 d=64 float32 fwd** (limit 100 µs, exp)"
    assert lines[4] == "| k | 1 ms | 1.500 [1.400, 1.600] | SLOWER | 25% | 64.0 KiB | 1.0e-07 | bmm |"
    assert lines[5].startswith("| base | 2 ms | ") and "| baseline |" in lines[5]
    assert lines[6] == "| bad |  |  |  |  |  |  | failed: a \\| b &lt;c> |"
    assert len({line.count(" | ") for line in lines[2:7]}) == 1


def test_growth_follows_where_there_are_lengths() -> None:
    text = to_markdown(results({"k": 1e-3}, {"k": 4e-3}, {"k": 16e-3}))
    assert "| B=1 H=8 n_q=n_kv=n d=64 float32 fwd | k | 2.00 [2.00, 2.00] | 1.00 [1.00, 1.00] |" in text


def test_cells_are_escaped() -> None:
    assert escape("a|b\\c\n<d>") == "a\\|b\\\\c &lt;d>"


def test_orders_of_two_runs() -> None:
    first = results({"a": 1.0, "b": 1.2, "c": 1.05, "d": None})
    assert list(disagreements(first, first)) == []
    close = results({"a": 1.06, "b": 1.2, "c": 1.0, "d": 9.0})
    assert list(disagreements(first, close)) == []
    turned = results({"a": 1.3, "b": 1.2, "c": 1.0})
    assert list(disagreements(first, turned)) == ["B=1 H=8 n=64 d=64 float32 fwd: a before b, and then after it"]
    assert list(disagreements(first, results())) == []
