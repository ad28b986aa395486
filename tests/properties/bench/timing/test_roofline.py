"""Limits of a machine.

Limits: what binds a workload, and that peaks are the best of what was measured (on a clock that tells its times).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from attention_core.bench.timing import roofline as limits
from attention_core.bench.timing.roofline import (
    COPIES,
    MATMUL,
    Roofline,
    best,
    copy_rate,
    exp_rate,
    matmul_peak,
    measure_limits,
)
from attention_core.bench.workloads.workload import Workload

LIMITS = Roofline({"float32": 1e9, "bfloat16": 1e10}, 1e8, {1 << 20: 1e10, 1 << 30: 1e9})


class Fixed:
    """A clock on which a call takes a given time, and is really made."""

    resolution = 1e-7

    def __init__(self, seconds: list[float]) -> None:
        self.seconds, self.calls = seconds, 0

    def time(self, function: Callable[[], Any], count: int) -> float:
        function()
        self.calls += 1
        return count * self.seconds[self.calls % len(self.seconds)]


def test_the_longest_of_three_times_binds() -> None:
    w = Workload(H=1, n_q=100, n_kv=100, d=64)
    assert LIMITS.seconds(w) == (w.flops / 1e9, "matmul")
    thin = Workload(H=1, n_q=100, n_kv=100, d=1, dtype="bfloat16")
    assert LIMITS.seconds(thin) == (thin.pairs / 1e8, "exp")
    decode = Workload(H=1, n_q=1, n_kv=10**6, d=64, dtype="bfloat16")
    assert LIMITS.seconds(decode) == (decode.bytes / 1e9, "bandwidth")


def test_half_precision_may_be_computed_in_float32() -> None:
    """Where its own products are slower, or nobody measured the others; float64 may not."""
    slow = Roofline({"float32": 1e9, "bfloat16": 1e7, "float64": 1e8}, 1e8, {1 << 20: 1e10})
    assert [slow.products(t) for t in ("bfloat16", "float64", "float32")] == [1e9, 1e8, 1e9]
    assert [LIMITS.products("bfloat16"), Roofline({"float16": 2.0}, 1.0, {1: 1.0}).products("float16")] == [1e10, 2.0]
    w = Workload(H=1, n_q=100, n_kv=100, d=64, dtype="bfloat16")
    assert slow.seconds(w) == (w.flops / 1e9, "matmul")
    assert slow.without_exponentials(w) == w.flops / 1e9


@pytest.mark.parametrize(("size", "rate"), [(100, 1e10), (1 << 20, 1e10), ((1 << 20) + 1, 1e9), (1 << 40, 1e9)])
def test_bandwidth_is_that_of_the_size(size: int, rate: float) -> None:
    assert LIMITS.bandwidth_for(size) == rate


def test_json_comes_back() -> None:
    assert Roofline.from_json(LIMITS.to_json()) == LIMITS


def test_peaks_are_the_best_of_the_samples() -> None:
    largest = max(2 * n * n * k for n, k in MATMUL)
    assert matmul_peak("float32", Fixed([0.3, 0.1, 0.2]), "cpu") == pytest.approx(10 * largest)
    assert exp_rate(Fixed([2e-3, 1e-3]), "cpu") == pytest.approx(1e3 * 2**14)
    assert copy_rate(COPIES[0], Fixed([1.0]), "cpu") == 2 * COPIES[0]


@pytest.mark.parametrize(("seconds", "samples"), [(1e-3, 9), (0.3, 4), (0.5, 2), (5.0, 1)])
def test_what_takes_long_is_sampled_less_often(seconds: float, samples: int) -> None:
    """Until a second is full, so that slow products do not use up the time for measuring the limits."""
    clock, calls = Fixed([seconds]), []
    assert best(clock, lambda: calls.append(1)) == seconds
    assert clock.calls == samples and len(calls) == samples + 1


def test_what_is_copied_lies_in_two_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of a size has a working set of twice that, by which the bandwidth is looked up."""
    monkeypatch.setattr(limits, "copy_rate", lambda size, clock, device: float(size))
    monkeypatch.setattr(limits, "exp_rate", lambda clock, device: 1.0)
    told: list[dict[str, Any]] = []
    measure_limits({"device": "cpu", "dtypes": []}, told.append)
    assert told[-1]["bandwidth"] == {str(2 * size): float(size) for size in COPIES}
