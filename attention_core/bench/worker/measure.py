"""One cell in one process: the tensors, every kernel's error on them, the interleaved samples, and one more look.

Runs in the worker. A kernel whose error leaves the derived budget is reported, not timed, at its first call or later.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attention_core.bench.targets import Call, CannotRun, NoTensor, load, prepare, read_target
from attention_core.bench.timing.clocks import NOW, ClockGuard, clock_for
from attention_core.bench.timing.sampling import StoppingRule, sample
from attention_core.bench.worker.client import Note
from attention_core.bench.worker.errors import Judge
from attention_core.bench.workloads.inputs import Inputs, dense_mask, draw
from attention_core.bench.workloads.workload import Workload
from attention_core.conformance.subjects.axes import LAYOUTS
from attention_core.declaration.implementation import Implementation, TargetError, Unavailable, summarize_error
from attention_core.worker.frames import Tell

CHANGES = "on these inputs: it changes its inputs"
LATER = "on these inputs, in a later call"
KEPT = "on these inputs: it keeps its answer, and gave it again once its inputs were others"
THREADS = "it sets the number of torch's threads, which is that of all kernels: it was not timed on as many"
CLOCKS = "it replaces the clock that it is timed by ({})"
SAMPLING = "sampling"
"""The phase of the sign of life that is given when the samples begin: the parent's clock starts there."""
HEARTBEAT = 1.0
"""Seconds between two signs of life."""


def fingerprint(call: Call) -> list[int]:
    """A checksum of every tensor that a kernel is handed, to see whether it changes one."""
    return checksums([*call.tensors, *call.kwargs.values(), call.cotangent])


def turn(call: Call, by: int = 1) -> None:
    """Move the query, key, value and cotangent of each key head to the head `by` further on, with their signs turned.

    In place; `by` = -1 gives back what was there, bit by bit.
    """
    group = call.workload.H // call.workload.H_kv
    layouts = (call.layout, call.layout, call.layout, call.out_layout)
    with torch.no_grad():
        for array, layout, heads in zip((*call.tensors, call.cotangent), layouts, (group, 1, 1, group), strict=True):
            if array is not None:
                tensor = array if isinstance(array, Tensor) else torch.from_numpy(array)
                tensor.copy_(-tensor.roll(by * heads, LAYOUTS[layout].index(1) - 4))


def turned_back(results: Mapping[str, Tensor], workload: Workload) -> dict[str, Tensor]:
    """Results for turned inputs as results for what they were: the same, to the bit, of what treats all heads alike.

    Both signs of a score's factors turn, so that the weights stay, and all that is linear in value or cotangent turns.
    """
    group = workload.H // workload.H_kv
    return {n: -result.roll(-1 if n in ("key", "value") else -group, 1) for n, result in results.items()}


def without_minus_zeros(result: Tensor) -> Tensor:
    """A copy in which a zero has no sign: a row that sees nothing is 0, whatever the signs of its inputs."""
    return result + 0


def checksums(values: Iterable[Any]) -> list[int]:
    """A checksum of every tensor or array among values.

    Example:
        >>> len(checksums([torch.zeros(1), None]))
        1
    """
    arrays = [
        t.detach().cpu().contiguous().flatten().view(torch.uint8).numpy() if isinstance(t, Tensor) else t
        for t in values
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


@dataclass(frozen=True)
class Checked:
    """A kernel that is right on these inputs: its call, and checksums of what it was handed and of what it gave."""

    call: Call
    implementation: Implementation
    handed: list[int]
    gave: list[int]


class Measurement:
    """The steps of one job: every kernel judged, timed side by side, and looked at again.

    Args: job, as `run.measure` writes it; it may hold checksums of what a kernel `gave` that was judged before, on the
        same inputs; tell, sends a message.
    """

    def __init__(self, job: dict[str, Any], tell: Tell) -> None:
        self.job, self.tell, self.note = job, tell, Note(job["note"])
        self.inputs = draw(Workload.from_json(job["workload"]), job["device"])
        self.checked: dict[str, Checked] = {}
        self.threads = torch.get_num_threads()
        self.threading: set[str] = set()
        self.clocks, self.replacing = ClockGuard(), dict[str, list[str]]()
        self.running = ""
        self.last = time.monotonic()

    def fails(self, column: str, message: str, status: str = "failed") -> None:
        """Tell that a kernel is out, and why."""
        self.checked.pop(column, None)
        self.tell({"event": "failed_kernel", "kernel": column, "status": status, "message": message})

    def judge(self) -> None:
        """Every kernel's error on the inputs, and whether it changes them."""
        judge = Judge(self.inputs)
        for column, text in self.job["kernels"].items():
            named = read_target(text, self.job["device"])
            self.before_kernel(column)
            try:
                call = prepare(named, *load(named), self.inputs)
                before = fingerprint(call)
                self.tell({"event": "alive"})
                results = call.results()
                if fingerprint(call) != before:
                    restore(self.inputs)
                    self.fails(column, CHANGES, "refuted")
                    continue
                gave = checksums(map(without_minus_zeros, results.values()))
                errors = {} if gave == self.job.get("gave") else judge.judge(results, named.implementation)
            except (CannotRun, TargetError, Unavailable, NoTensor) as error:
                self.fails(column, str(error))
                continue
            except BaseException as error:  # also SystemExit: it is the kernel's, and the others go on
                self.fails(column, f"raised {summarize_error(error)}")
                continue
            self.tell({"event": "checked", "kernel": column, "errors": errors, "gave": gave})
            if not any(found["refuted"] for found in errors.values()):
                self.checked[column] = Checked(call, named.implementation, before, gave)
        judge.forget()

    def before_kernel(self, column: str, phase: str = "checking") -> None:
        """Before a kernel runs: note it, give a sign of life, and set back what the one before may have left."""
        self.note.write(column)
        if torch.get_num_threads() != self.threads:
            self.threading.add(self.running)
            torch.set_num_threads(self.threads)
        if replaced := self.clocks.restore():
            self.replacing.setdefault(self.running, replaced)
        self.running = column
        if time.monotonic() - self.last > HEARTBEAT:
            self.last = time.monotonic()
            self.tell({"event": "alive", "kernel": column, "phase": phase})

    def sample(self) -> dict[str, Any]:
        """The message with the samples."""
        clock = clock_for(self.job["device"])
        self.tell({"event": "alive", "phase": SAMPLING})
        start = NOW()
        samples = sample(
            {column: checked.call.run for column, checked in self.checked.items()}, clock,
            StoppingRule(**self.job["plan"]),
            baseline=self.job["baseline"], repeats=self.job["repeats"], inner=self.job["inner"],
            before_call=self.before_kernel, caught=BaseException,
        )  # fmt: skip
        self.before_kernel("")
        return {
            "event": "sampled", "times": {k: v.tolist() for k, v in samples.times.items()}, "inner": samples.inner,
            "first": samples.first, "warm_up": samples.warm_up, "settled": samples.settled, "failed": samples.failed,
            "resolution": clock.resolution, "again": False, "seconds": NOW() - start,
        }  # fmt: skip

    def look_again(self, found: dict[str, Any]) -> None:
        """One more call of each kernel that was timed: what it gives, and leaves alone, must be what it was at first.

        A kernel may take another path once it is warm, or keep an answer: its inputs are turned for this call, and what
        it gives is turned back, so that no other truth is needed. Where inputs were changed, all were timed on other
        ones than they were judged on: the others are to be measured again.
        """
        timed = {column: checked for column, checked in self.checked.items() if column in found["times"]}
        changed = any(fingerprint(checked.call) != checked.handed for checked in timed.values())
        if changed:
            restore(self.inputs)
        guilty = False
        for column, checked in timed.items():
            self.before_kernel(column, "looking again")
            turn(checked.call)
            try:
                results = {n: without_minus_zeros(result) for n, result in checked.call.results().items()}
            except BaseException as error:
                self.fails(column, f"raised {summarize_error(error)}")
                continue
            finally:
                turn(checked.call, -1)
            if fingerprint(checked.call) != checked.handed:
                guilty = True
                restore(self.inputs)
                self.fails(column, CHANGES, "refuted")
            else:
                self.judge_again(column, checked, results)
        self.before_kernel("")
        for column in self.threading & set(timed):
            self.fails(column, THREADS)
        for column in self.replacing.keys() & set(self.job["kernels"]):
            self.fails(column, CLOCKS.format(", ".join(self.replacing[column])), "refuted")
        if changed and not guilty:  # unknown by which kernel, since all share the inputs
            for column in set(timed) & set(self.checked):
                self.fails(column, "its inputs were changed while it was timed")
        found["again"] = changed and guilty
        found["times"] = {column: times for column, times in found["times"].items() if column in self.checked}

    def judge_again(self, column: str, checked: Checked, given: dict[str, Tensor]) -> None:
        """What a kernel gave for turned inputs; another result than at first is judged as the first one was."""
        judge = Judge(self.inputs)
        try:
            judge.check_shapes(given)
            results = {n: without_minus_zeros(result) for n, result in turned_back(given, judge.workload).items()}
            if checksums(results.values()) == checked.gave:
                return
            if checksums(given.values()) == checked.gave:
                self.fails(column, KEPT, "refuted")
                return
            errors = judge.judge(results, checked.implementation)
        except ValueError as error:
            self.fails(column, f"{LATER}: {error}", "refuted")
            return
        if any(e["refuted"] for e in errors.values()):
            del self.checked[column]
            self.tell({"event": "checked", "kernel": column, "errors": errors, "where": LATER})


def measure(job: dict[str, Any], tell: Tell) -> None:
    """Answer one message a kernel ("checked" or "failed_kernel"), signs of life, then {"event": "sampled", ...}."""
    measurement = Measurement(job, tell)
    measurement.judge()
    found = measurement.sample()
    measurement.look_again(found)
    tell(found)
