"""Benchmarks: right first, then fast, with an interval on every ratio and the distance to the machine's limit.

What goes through it, and where each step lives:

    words (`shapes`, `masks`) -> `Workload` (`workload`): one shape, dtype, mask and direction; its pairs, FLOPs, bytes
      and the memory it needs are counted before anything is allocated
    -> verdict of every kernel by the conformance suite (`verdicts`), at quick effort, once in a run; refuted: listed
    only
    -> a fresh process for every kernel (`probe`): which operators ran, compile time, peak memory (allocator, process)
    -> one process for the cell (`measure`): the same tensors for all kernels (`inputs`), each kernel's error against
      the float64 truth on them (`errors`), then warm-up and interleaved A B B A blocks (`sampling`, `clocks`)
    -> paired ratios with their intervals (`statistics`), the limit of the machine (`limits`), growth with n (`growth`)
    -> `results` (plain JSON, written after every cell by `files`, read to `resume`, as its fields are declared, by
      `reading`) -> `render_text`, `pictures`, `render_html`

`run` holds these together; `command` is `attention-core bench`, `asked` reads what it is asked for, `status` is how it
ends; `selftest` puts a kernel beside itself and publishes the false-alarm rate. Processes are started by `workers` and
live in `worker`: kernels never run in the caller's process, and one that crashes or hangs costs its own column of one
cell.

    from attention_core.bench import Workload, Settings, run_benchmark
    results = run_benchmark(["torch:default", "core:tiled"], [Workload(n_q=128, n_kv=128)], Settings(seconds=1.0))
    results.cells[0].kernels["core:tiled"].ratio        # time over that of the baseline, with .low and .high
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attention_core.bench.report.results import Results as Results
    from attention_core.bench.run import Settings as Settings
    from attention_core.bench.run import run_benchmark as run_benchmark
    from attention_core.bench.timing.statistics import Comparison as Comparison
    from attention_core.bench.timing.statistics import compare as compare
    from attention_core.bench.workloads.workload import Workload as Workload

_HOMES = {
    "Workload": "workloads.workload",
    "Settings": "run",
    "run_benchmark": "run",
    "Results": "report.results",
    "Comparison": "timing.statistics",
    "compare": "timing.statistics",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
