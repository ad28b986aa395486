"""Clocks: how long `count` calls of a function take, on the processor and on a CUDA device.

A clock is anything with `resolution` and `time(function, count)`; tests use synthetic ones, with drift and bursts.

Kernels run in the process that times them, and could replace what they are timed by. So the wall clock reads a function
that it took before any kernel was loaded, `ClockGuard` sees what was replaced, and the parent compares the whole with
its own clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import repeat
from typing import Any, Protocol

L2_FLUSH = 256 * 2**20
"""Bytes written between samples on a CUDA device, so that no sample finds its inputs in the cache: beyond any L2."""


class Clock(Protocol):
    """Times calls; seconds throughout."""

    resolution: float

    def time(self, function: Callable[[], Any], count: int) -> float: ...


NOW, NOW_NS = time.perf_counter, time.perf_counter_ns
"""The clocks as they are when this module is imported, which the worker does before it loads any kernel."""
PROCESSOR_NS = time.process_time_ns
"""Of this process: it stands while the system gives the core to others."""


class WallClock:
    """Seconds by `time.perf_counter_ns`, the loop's own cost of some 20 ns a call included.

    Args: now, the counter of nanoseconds; it is kept, so that replacing Python's own changes nothing.
    """

    def __init__(self, now: Callable[[], int] = NOW_NS) -> None:
        self.resolution = measured_resolution(now=now)
        self._seconds = _timer(now, repeat)

    def time(self, function: Callable[[], Any], count: int) -> float:
        """Seconds that `count` calls take."""
        return self._seconds(function, count)


def _timer(now: Callable[[], int], times: type[repeat[None]]) -> Callable[[Callable[[], Any], int], float]:
    """Return a function that times calls and looks up no global name, which a call could replace on the way."""

    def seconds(function: Callable[[], Any], count: int) -> float:
        start = now()
        for _ in times(None, count):
            function()
        return (now() - start) * 1e-9

    return seconds


def slow_down(function: Callable[[], Any], factor: float) -> Callable[[], Any]:
    """The same call, and then waiting until it has taken `factor` times as long, by the wall clock."""

    def call() -> Any:
        start = NOW()
        result = function()
        end = start + factor * (NOW() - start)
        while NOW() < end:
            pass
        return result

    return call


def measured_resolution(reads: int = 200, now: Callable[[], int] = NOW_NS) -> float:
    """The median of the smallest steps that the clock makes, its own cost included: seconds."""
    steps = []
    for _ in range(reads):
        start = read = now()
        while read == start:
            read = now()
        steps.append(read - start)
    return float(sorted(steps)[reads // 2]) * 1e-9


class CudaClock:
    """Seconds by CUDA events; the L2 cache is overwritten before every sample, outside of it."""

    resolution = 0.5e-6
    """Of CUDA events, as NVIDIA states it for cudaEventElapsedTime."""

    def __init__(self, device: str = "cuda") -> None:
        import torch

        self.torch = torch
        self.device = torch.device(device)
        self.flush = torch.empty(L2_FLUSH, dtype=torch.int8, device=self.device)

    def time(self, function: Callable[[], Any], count: int) -> float:
        """Seconds that `count` calls take on the device."""
        event: Any = self.torch.cuda.Event
        start, end = event(enable_timing=True), event(enable_timing=True)
        with self.torch.cuda.device(self.device):
            self.flush.zero_()
            start.record()
            for _ in repeat(None, count):
                function()
            end.record()
            end.synchronize()
        return float(start.elapsed_time(end)) * 1e-3


CLOCKS = (
    "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time", "process_time_ns", "sleep", "time",
    "time_ns",
)  # fmt: skip
"""Functions of Python's module `time` that a kernel has no reason to replace."""


class ClockGuard:
    """The clocks as they were before any kernel was loaded.

    Example:
        >>> ClockGuard().restore()
        []
    """

    def __init__(self) -> None:
        owners = [(time, "time", name) for name in CLOCKS] + [(c, c.__name__, "time") for c in (WallClock, CudaClock)]
        self._kept: list[tuple[Any, str, str, Any]] = [
            (owner, f"{label}.{name}", name, getattr(owner, name)) for owner, label, name in owners
        ]
        self._kept.append((_timer, "WallClock", "__code__", _timer.__code__))

    def restore(self) -> list[str]:
        """Put back what was replaced; returns its names."""
        replaced = [kept for kept in self._kept if getattr(kept[0], kept[2]) is not kept[3]]
        for owner, _, name, function in replaced:
            setattr(owner, name, function)
        return [label for _, label, _, _ in replaced]


def clocks_differ(here: float, there: float) -> bool:
    """Whether a process that says `there` seconds have passed cannot be right by this process's clock.

    A busy machine makes a message wait for slices of the scheduler, not for a tenth of the whole and a second more.
    """
    return abs(here - there) > 1.0 + 0.1 * max(here, there)


def clock_of_processor() -> Clock:
    """The processor time of this process, for what computes without waiting: other work on the machine does not count.

    >>> clock_of_processor().time(lambda: time.sleep(0.02), 1) < 0.02
    True
    """
    return WallClock(PROCESSOR_NS)


def clock_for(device: str) -> Clock:
    """The clock of a device."""
    return CudaClock(device) if device.startswith("cuda") else WallClock()
