"""One kernel on one workload in a fresh process: which operators run, how long it compiles, how much memory it takes.

Runs in the worker. Memory is what the call adds: to the process (peak resident set), and in the allocator (peak of what
torch holds at once, result included).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from attention_core.bench.targets import Call, CannotRun, load, prepare, read_target
from attention_core.bench.worker.client import Note
from attention_core.bench.workloads.inputs import draw
from attention_core.bench.workloads.workload import Workload
from attention_core.declaration.implementation import Unavailable
from attention_core.worker.frames import Tell

TINY = 16
"""Rows and keys of the call that loads a kernel's code before its memory is measured."""


def probe(job: dict[str, Any], tell: Tell) -> None:
    """Answer {"event": "probed", ...}, or {"event": "cannot", ...} where the kernel does not take the workload."""
    workload, named = Workload.from_json(job["workload"]), read_target(job["kernel"], job["device"])
    Note(job["note"]).write(named.name)
    try:
        function, binding = load(named)
        with contextlib.suppress(BaseException):  # it may not take this size; the workload itself decides
            small = replace(workload, n_q=min(workload.n_q, TINY), n_kv=min(workload.n_kv, TINY))
            prepare(named, function, binding, draw(small, job["device"])).run()
        call = prepare(named, function, binding, draw(workload, job["device"]))
    except CannotRun as error:
        tell({"event": "cannot", "message": str(error)})
        return
    alive = partial(tell, {"event": "alive"})
    found = on_cuda(call, alive) if job["device"].startswith("cuda") else on_cpu(call, alive)
    tell({"event": "probed", **found})


def check_loads(job: dict[str, Any], tell: Tell) -> None:
    """Load a kernel and forget it. Raises: TargetError with what is there instead."""
    with contextlib.suppress(Unavailable):  # it is there, and says itself that this machine is not for it
        load(read_target(job["kernel"], job["device"]))


def on_cpu(call: Call, alive: Callable[[], None]) -> dict[str, Any]:
    """Seconds of the first and second call, peaks in bytes, and operators with their share of the time.

    `alive` is called between the calls: each may take as long as one call is allowed to.
    """
    clear_peak()
    before = resident()["VmRSS"]
    first = seconds(call.run)
    after = resident()["VmHWM"]
    alive()
    second = seconds(call.run)
    alive()
    operators, allocated = profile(call.run)
    return {
        "first": first, "second": second, "process": None if before is None or after is None else after - before,
        "allocator": allocated, "operators": operators,
    }  # fmt: skip


def on_cuda(call: Call, alive: Callable[[], None]) -> dict[str, Any]:
    """The same on a CUDA device, where the allocator's peak is the memory."""
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    first = seconds(call.run, torch.cuda.synchronize)
    peak = torch.cuda.max_memory_allocated() - before
    reserved = torch.cuda.max_memory_reserved()
    alive()
    second = seconds(call.run, torch.cuda.synchronize)
    alive()
    operators, _ = profile(call.run)
    return {"first": first, "second": second, "process": reserved, "allocator": peak, "operators": operators}


def seconds(function: Callable[[], Any], done: Callable[[], Any] = lambda: None) -> float:
    """Of one call."""
    start = time.perf_counter()
    function()
    done()
    return time.perf_counter() - start


def clear_peak() -> None:
    """Let the peak of the resident set begin anew (Linux); elsewhere the process is fresh, and it is its whole
    life's."""
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w", encoding="ascii") as stream:
        stream.write("5")


def resident() -> dict[str, int | None]:
    """VmRSS and VmHWM of this process in bytes; None where the system does not tell."""
    found: dict[str, int | None] = {"VmRSS": None, "VmHWM": None}
    with contextlib.suppress(OSError), open("/proc/self/status", encoding="ascii") as stream:
        for line in stream:
            name, _, rest = line.partition(":")
            if name in found:
                found[name] = 1024 * int(rest.split()[0])
    return found


def profile(function: Callable[[], Any]) -> tuple[list[dict[str, Any]], int]:
    """The operators of one call, by their own time, and the allocator's peak in bytes."""
    # not torch.profiler.profile, which imports the compiler (seconds) before it starts
    profiler = torch.autograd.profiler.profile(profile_memory=True)
    with profiler:
        kept = function()
    del kept
    held = peak = 0
    assert profiler.kineto_results is not None
    events: Any = profiler.kineto_results.events()
    for event in sorted((e for e in events if e.name() == "[memory]"), key=lambda e: e.start_ns()):
        held += event.nbytes()
        peak = max(peak, held)
    averages: Any = profiler.key_averages  # torch types it not
    rows = [(row.key, int(row.count), float(row.self_cpu_time_total)) for row in averages()]
    total = sum(row[2] for row in rows) or 1.0
    named = sorted((r for r in rows if r[0] != "[memory]"), key=lambda r: -r[2])
    return [{"operator": name, "calls": calls, "share": own / total} for name, calls, own in named], peak
