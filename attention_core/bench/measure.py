"""One cell in one process: the tensors, every kernel's error on them, then the interleaved samples.

Runs in the worker. A kernel whose error leaves the derived budget is told and not timed.
"""

from __future__ import annotations

import time
from typing import Any

from attention_core.bench.clocks import clock_for
from attention_core.bench.errors import Judge
from attention_core.bench.exchange import Tell
from attention_core.bench.inputs import draw
from attention_core.bench.sampling import Plan, sample
from attention_core.bench.targets import Call, CannotRun, load, prepare, read_target
from attention_core.bench.workers import Note
from attention_core.bench.workload import Workload
from attention_core.conformance.implementation import TargetError, Unavailable, said

HEARTBEAT = 1.0
"""Seconds between two signs of life."""


def measure(job: dict[str, Any], tell: Tell) -> None:
    """Answer one message a kernel ("checked" or "failed_kernel"), signs of life, then {"event": "sampled", ...}."""
    workload, note = Workload.from_json(job["workload"]), Note(job["note"])
    inputs = draw(workload, job["device"])
    judge = Judge(inputs)
    calls: dict[str, Call] = {}
    for column, text in job["kernels"].items():
        named = read_target(text, job["device"])
        note.write(column)
        try:
            call = prepare(named, *load(named), inputs)
            errors = judge.judge(call.results(), named.implementation)
        except (CannotRun, TargetError, Unavailable) as error:
            tell({"event": "failed_kernel", "kernel": column, "message": str(error)})
            continue
        except Exception as error:
            tell({"event": "failed_kernel", "kernel": column, "message": f"raised {said(error)}"})
            continue
        tell({"event": "checked", "kernel": column, "errors": errors})
        if not any(found["refuted"] for found in errors.values()):
            calls[column] = call
    judge.forget()
    last = time.monotonic()

    def told(column: str, phase: str) -> None:
        nonlocal last
        note.write(column)
        if time.monotonic() - last > HEARTBEAT:
            last = time.monotonic()
            tell({"event": "alive", "kernel": column, "phase": phase})

    clock = clock_for(job["device"])
    samples = sample(
        {column: call.run for column, call in calls.items()}, clock, Plan(**job["plan"]), baseline=job["baseline"],
        repeats=job["repeats"], inner=job["inner"], told=told,
    )  # fmt: skip
    tell({
        "event": "sampled", "times": {k: v.tolist() for k, v in samples.times.items()}, "inner": samples.inner,
        "first": samples.first, "warm_up": samples.warm_up, "settled": samples.settled, "failed": samples.failed,
        "resolution": clock.resolution,
    })  # fmt: skip
