"""The harnesses that are compared.

Three harnesses behind one face: a pair of functions and a clock in, "is the second slower, faster, or neither" out.
Each is used as its documentation shows; the peers' own timers are given, so that simulated clocks serve them as well.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch.utils.benchmark as torch_benchmark
from pytest_benchmark.fixture import BenchmarkFixture
from pytest_benchmark.utils import NameWrapper

from attention_core.bench.timing.clocks import WallClock
from attention_core.bench.timing.sampling import StoppingRule, sample
from attention_core.bench.timing.statistics import compare
from attention_core.bench.timing.synthetic import Machine, SyntheticClock, Work

SECONDS = 1.0
"""For each function; the peers' own defaults are 1 (pytest-benchmark) and 0.2 (blocked_autorange)."""
THRESHOLD = 0.025
"""Half of the planted slow-down: the fairest threshold for a comparison that knows no other evidence."""
Function = Callable[[], Any]


@dataclass(frozen=True)
class Pair:
    """Two functions, a timer as the peers take it, and our clock."""

    first: Function
    second: Function
    timer: Callable[[], float]
    clock: Any


def simulated(machine: Machine, seed: int, seconds: float, ratio: float) -> Pair:
    """A pair on a simulated machine; its time passes as the functions run, and a little whenever it is read."""
    clock = SyntheticClock(machine, seed)
    first, second = Work(seconds), Work(seconds * ratio)

    def read() -> float:
        clock.now += clock.resolution
        return clock.now

    return Pair(Running(clock, first), Running(clock, second), read, Unwrapping(clock))


@dataclass(frozen=True)
class Running:
    """A call that lets a simulated machine's time pass."""

    clock: SyntheticClock
    work: Work

    def __call__(self) -> None:
        self.clock.time(self.work, 1)


@dataclass(frozen=True)
class Unwrapping:
    """Our clock over the same simulated machine."""

    clock: SyntheticClock

    @property
    def resolution(self) -> float:
        return self.clock.resolution

    def time(self, function: Function, count: int) -> float:
        assert isinstance(function, Running)
        return self.clock.time(function.work, count)


def measured(call: Function, first: int, second: int) -> Pair:
    """Two functions that call the same kernel so many times each, on this machine."""

    def times(count: int) -> Function:
        def run() -> None:
            for _ in range(count):
                call()

        return run

    return Pair(times(first), times(second), timeit.default_timer, WallClock())


def ours(pair: Pair) -> str:
    """Interleaved blocks and the verdict on the paired median."""
    plan = StoppingRule(seconds=2 * SECONDS)
    times = sample({"A": pair.first, "B": pair.second}, pair.clock, plan).times
    return compare(times["B"], times["A"]).verdict


def by_threshold(first: float, second: float) -> str:
    """Two numbers, one after the other: what `--benchmark-compare-fail=STAT:2.5%` says."""
    if second > first * (1 + THRESHOLD):
        return "SLOWER"
    return "FASTER" if first > second * (1 + THRESHOLD) else "SAME"


def pytest_benchmark(statistic: str) -> Callable[[Pair], str]:
    """pytest-benchmark with its default rounds, compared by one of its statistics."""

    def judge(pair: Pair) -> str:
        first, second = (one_fixture(f, pair.timer) for f in (pair.first, pair.second))
        return by_threshold(float(getattr(first, statistic)), float(getattr(second, statistic)))

    return judge


def one_fixture(function: Function, timer: Callable[[], float]) -> Any:
    """The statistics that the `benchmark` fixture takes of a function."""
    fixture = BenchmarkFixture(
        SimpleNamespace(name="f", nodeid="f"), disable_gc=False, timer=NameWrapper(timer), min_rounds=5, min_time=5e-6,
        max_time=SECONDS, precision=None, confidence=None, warmup=False, warmup_iterations=100000,
        calibration_precision=10, add_stats=lambda stats: None,
        logger=SimpleNamespace(debug=lambda *a, **k: None, warning=lambda *a, **k: None), warner=None, disabled=False,
        cprofile=False, cprofile_loops=None, cprofile_dump=None,
    )  # fmt: skip
    BenchmarkFixture._precisions.clear()  # it remembers a timer's precision, and this one is of another machine
    fixture(function)
    assert fixture.stats is not None
    return fixture.stats.stats


def torch_timer(pair: Pair) -> str:
    """torch.utils.benchmark: Timer.blocked_autorange, compared by the median as Compare shows it."""
    medians = []
    for function in (pair.first, pair.second):
        timer = torch_benchmark.Timer("f()", globals={"f": function}, timer=pair.timer)
        medians.append(timer.blocked_autorange(min_run_time=SECONDS).median)
    return by_threshold(*medians)


HARNESSES: dict[str, Callable[[Pair], str]] = {
    "attention-core bench": ours,
    "pytest-benchmark, mean": pytest_benchmark("mean"),
    "pytest-benchmark, median": pytest_benchmark("median"),
    "pytest-benchmark, min": pytest_benchmark("min"),
    "torch.utils.benchmark, median": torch_timer,
}


def rates(make: Callable[[int, float], Pair], harness: Callable[[Pair], str], trials: int) -> tuple[float, float]:
    """(share of A/A pairs called different, share of 5 % slow-downs not called SLOWER)."""
    alarms = [harness(make(2 * t, 1.0)) in ("FASTER", "SLOWER") for t in range(trials)]
    misses = [harness(make(2 * t + 1, 1.05)) != "SLOWER" for t in range(trials)]
    return float(np.mean(alarms)), float(np.mean(misses))
