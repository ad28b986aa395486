"""One cell in one process: the tensors, every kernel's error on them, then the interleaved samples.

Runs in the worker. A kernel whose error leaves the derived budget is told and not timed.
"""

from __future__ import annotations

import time
import zlib
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attention_core.bench.clocks import clock_for
from attention_core.bench.errors import Judge
from attention_core.bench.exchange import Tell
from attention_core.bench.inputs import Inputs, dense_mask, draw
from attention_core.bench.sampling import Plan, sample
from attention_core.bench.targets import Call, CannotRun, NoTensor, load, prepare, read_target
from attention_core.bench.workers import Note
from attention_core.bench.workload import Workload
from attention_core.conformance.implementation import TargetError, Unavailable, said

CHANGES = "on these inputs: it changes its inputs"
HEARTBEAT = 1.0
"""Seconds between two signs of life."""


def fingerprint(call: Call) -> list[int]:
    """A checksum of every tensor that a kernel is handed, to see whether it changes one."""
    handed = [*call.tensors, *call.kwargs.values(), call.cotangent]
    arrays = [
        t.detach().cpu().contiguous().flatten().view(torch.uint8).numpy() if isinstance(t, Tensor) else t
        for t in handed
    ]
    return [zlib.crc32(np.ascontiguousarray(a).data) for a in arrays if isinstance(a, np.ndarray)]


def restore(inputs: Inputs) -> None:
    """Draw the values again, into the tensors that other kernels hold already."""
    fresh = draw(inputs.workload, str(inputs.query.device))
    fresh.dense = None if inputs.dense is None else dense_mask(inputs.workload, inputs.query.device)
    with torch.no_grad():
        for name in ("query", "key", "value", "cotangent", "dense"):
            if getattr(inputs, name) is not None:
                getattr(inputs, name).copy_(getattr(fresh, name))


def measure(job: dict[str, Any], tell: Tell) -> None:
    """Answer one message a kernel ("checked" or "failed_kernel"), signs of life, then {"event": "sampled", ...}."""
    workload, note = Workload.from_json(job["workload"]), Note(job["note"])
    inputs = draw(workload, job["device"])
    judge = Judge(inputs)
    calls: dict[str, Call] = {}
    known: dict[str, list[int]] = {}
    for column, text in job["kernels"].items():
        named = read_target(text, job["device"])
        note.write(column)
        try:
            call = prepare(named, *load(named), inputs)
            before = fingerprint(call)
            tell({"event": "alive"})
            results = call.results()
            if fingerprint(call) != before:
                restore(inputs)
                tell({"event": "failed_kernel", "kernel": column, "status": "refuted", "message": CHANGES})
                continue
            errors = judge.judge(results, named.implementation)
        except (CannotRun, TargetError, Unavailable, NoTensor) as error:
            tell({"event": "failed_kernel", "kernel": column, "message": str(error)})
            continue
        except BaseException as error:  # also SystemExit: it is the kernel's, and the others go on
            tell({"event": "failed_kernel", "kernel": column, "message": f"raised {said(error)}"})
            continue
        tell({"event": "checked", "kernel": column, "errors": errors})
        if not any(found["refuted"] for found in errors.values()):
            calls[column], known[column] = call, before
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
        repeats=job["repeats"], inner=job["inner"], told=told, caught=BaseException,
    )  # fmt: skip
    for column, call in calls.items():
        if column in samples.times and fingerprint(call) != known[column]:  # by whom cannot be told: all share them
            del samples.times[column]
            tell({"event": "failed_kernel", "kernel": column, "message": "its inputs were changed while it was timed"})
    tell({
        "event": "sampled", "times": {k: v.tolist() for k, v in samples.times.items()}, "inner": samples.inner,
        "first": samples.first, "warm_up": samples.warm_up, "settled": samples.settled, "failed": samples.failed,
        "resolution": clock.resolution,
    })  # fmt: skip
