"""Clocks: how long `count` calls of a function take, on the processor and on a CUDA device.

A clock is anything with `resolution` and `time(function, count)`; tests use synthetic ones, with drift and bursts.
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


class WallClock:
    """Seconds by `time.perf_counter_ns`, the loop's own cost of some 20 ns a call included."""

    def __init__(self) -> None:
        self.resolution = measured_resolution()

    def time(self, function: Callable[[], Any], count: int) -> float:
        """Seconds that `count` calls take."""
        start = time.perf_counter_ns()
        for _ in repeat(None, count):
            function()
        return (time.perf_counter_ns() - start) * 1e-9


def slowed(function: Callable[[], Any], factor: float) -> Callable[[], Any]:
    """The same call, and then waiting until it has taken `factor` times as long, by the wall clock.

    Example: slowed(f, 1.05) takes 5 % longer than f.
    """

    def call() -> Any:
        start = time.perf_counter()
        result = function()
        end = start + factor * (time.perf_counter() - start)
        while time.perf_counter() < end:
            pass
        return result

    return call


def measured_resolution(reads: int = 200) -> float:
    """The median of the smallest steps that the clock makes, its own cost included: seconds."""
    steps = []
    for _ in range(reads):
        start = now = time.perf_counter_ns()
        while now == start:
            now = time.perf_counter_ns()
        steps.append(now - start)
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


def clock_for(device: str) -> Clock:
    """The clock of a device."""
    return CudaClock(device) if device.startswith("cuda") else WallClock()
