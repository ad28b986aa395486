"""Benchmarks: right first, then fast, with an interval on every ratio and the distance to the machine's limit.

Rooms, in the order of the data:

* `workloads`: words (`workloads.shapes`, `workloads.masks`) become a `workloads.workload`, one shape, dtype, mask and
  direction. Its pairs, FLOPs, bytes and memory are counted before anything is allocated; `workloads.inputs` makes the
  tensors that all kernels share.
* `verdicts`: every kernel is judged by the conformance suite first, at quick effort, once in a run. A refuted kernel is
  listed without a time.
* `worker`: kernels run in processes of their own, started by `worker.client` and served by `worker.entry`. One that
  crashes or hangs costs its own column of one cell. `worker.probe` measures each kernel alone (operators, compile time,
  peak memory), `worker.measure` all kernels of a cell side by side, and `worker.errors` their errors against float64.
* `timing`: warm-up and interleaved A B B A blocks (`timing.sampling`, `timing.clocks`), paired ratios with intervals
  (`timing.statistics`), the machine and its limit (`timing.machine`, `timing.roofline`).
* `report`: `report.results` as plain JSON, `report.growth` with n, and what is printed, drawn or written from them.

* `revisions`: the kernels of two revisions of the user's repository. `revisions.checkout` gives both as folders,
  `revisions.pair` runs them in turns, `revisions.rounds` says what rounds of that mean, `revisions.compare` holds it
  together; `worker.pair_entry` and `worker.turns` are the other end.

`run` holds these together, and goes on with what `files` wrote. `cli` is `attention-core bench` and says how it ends;
`cli_validation` checks its options. `tune` writes the table of choices; `selftest` puts a kernel beside itself and
publishes the false-alarm rate.

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
