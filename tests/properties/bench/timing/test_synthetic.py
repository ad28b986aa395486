"""Simulated machines: a quiet one keeps the times, and each disturbance does what it is named for."""

from __future__ import annotations

import numpy as np
import pytest

from attention_core.bench.timing.synthetic import MACHINES, Machine, SyntheticClock, Work


def times(machine: Machine, seed: int = 0, seconds: float = 1e-3, calls: int = 400) -> np.ndarray:
    clock = SyntheticClock(machine, seed)
    return np.array([clock.time(Work(seconds), 5) for _ in range(calls)]) / 5 / seconds


def test_without_noise_a_function_takes_its_time() -> None:
    assert times(Machine(noise=0.0)) == pytest.approx(1.0)


def test_one_seed_is_one_history() -> None:
    assert np.array_equal(times(MACHINES["shared"], 3), times(MACHINES["shared"], 3))
    assert not np.array_equal(times(MACHINES["shared"], 3), times(MACHINES["shared"], 4))


def test_disturbances_are_seen() -> None:
    drifting = times(Machine(noise=0.0, drift=0.5))
    assert np.all(np.diff(drifting) > 0) and drifting[-1] == pytest.approx(1 + 0.5 * 2, rel=0.6)
    throttled = times(Machine(noise=0.0, throttle=0.5, stretch=0.05))
    assert set(np.round(throttled, 6)) == {1.0, round(1 / 0.7, 6)}
    bursts = times(Machine(noise=0.0, bursts=5.0, burst=0.02, cost=0.5), calls=4000)
    assert bursts.min() == pytest.approx(1.0) and bursts.max() > 1.1
    assert bursts.mean() - 1 == pytest.approx(5.0 * 0.02 * 0.5, rel=0.35), "rate times length times cost"
