"""Interleaved sampling.

How samples are taken: order of the blocks, warm-up, calls a sample, when to stop, and a function that fails midway.
Clocks are simulated, so that nothing depends on this machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attention_core.bench.timing import clocks, sampling
from attention_core.bench.timing.sampling import LEAST, StoppingRule, calls_per_sample, order_of, sample, warm_up
from attention_core.bench.timing.synthetic import Machine, SyntheticClock, Work

STILL = Machine(noise=0.0)


class Told:
    """A clock that tells the seconds it was given for each function, in turn, and notes the calls."""

    resolution = 1e-7

    def __init__(self, seconds: list[float]) -> None:
        self.seconds, self.calls = list(seconds), 0

    def time(self, function: Callable[[], Any], count: int) -> float:
        self.calls += 1
        return self.seconds.pop(0) if len(self.seconds) > 1 else self.seconds[0]


def test_blocks_are_rotated_and_turned_round() -> None:
    assert order_of(0, ["A", "B"]) == ["A", "B", "B", "A"]
    assert order_of(1, ["A", "B"]) == ["B", "A", "A", "B"]
    assert order_of(2, ["A", "B", "C"]) == ["C", "A", "B", "B", "A", "C"]


@pytest.mark.parametrize("count", [2, 3, 5])
def test_a_linear_drift_falls_on_all_alike(count: int) -> None:
    names = [str(k) for k in range(count)]
    for block in range(count):
        order = order_of(block, names)
        sums = {name: sum(at for at, one in enumerate(order) if one == name) for name in names}
        assert len(set(sums.values())) == 1


def test_every_function_is_first_equally_often() -> None:
    names = ["A", "B", "C"]
    assert sorted(order_of(block, names)[0] for block in range(9)) == sorted(names * 3)


@pytest.mark.parametrize(
    ("seconds", "resolution", "calls"), [(1.0, 1e-7, 1), (1e-3, 1e-7, 1), (1e-6, 1e-7, 200), (1e-6, 1e-5, 1000)]
)
def test_a_sample_is_long_enough(seconds: float, resolution: float, calls: int) -> None:
    assert calls <= calls_per_sample(seconds, resolution) <= calls + 1
    assert calls * seconds >= 100 * resolution * (1 - 1e-12)


def test_warm_up_ends_when_nothing_gets_faster() -> None:
    taken, settled = warm_up(Work(1.0), Told([8.0, 5.0, 4.0, 3.0, 2.0, 1.5, 1.2, 1.1, 1.0]), 1e9)
    assert settled
    assert 8 <= len(taken) <= 16
    assert min(taken) == 1.0


def test_what_keeps_getting_faster_is_told() -> None:
    _, settled = warm_up(Work(1.0), Told([0.9**k for k in range(1000)]), 1e9)
    assert not settled


def test_warm_up_is_kept_apart() -> None:
    slow_start = Told([50.0] * 4 + [1.0])
    found = sample({"A": Work(1.0)}, slow_start, StoppingRule(seconds=100, least=6, most=6))
    assert found.first == {"A": 50.0}
    assert found.times["A"].max() == 1.0
    assert max(found.warm_up["A"]) == 50.0


def test_warm_up_has_a_tenth_of_the_time() -> None:
    """What gets ever faster takes 3.1 s in its first window and 2 s in its second; then 4 s are over."""
    found = sample({"A": Work(1.0)}, Told([0.9**k for k in range(1000)]), StoppingRule(seconds=40, least=1, most=1))
    assert len(found.warm_up["A"]) == 8


def test_some_blocks_are_measured_whatever_the_time() -> None:
    works = {"A": Work(1e-3), "B": Work(2e-3)}
    found = sample(works, SyntheticClock(STILL, 0), StoppingRule(seconds=1e-9, least=100))
    assert found.times["A"].shape == found.times["B"].shape == (LEAST, 2)


def test_the_ratios_are_looked_at_ever_more_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """After every block the rule would have many chances to stop too early."""
    blocks: list[int] = []

    def never(times: list[list[float]], *_: object) -> bool:
        blocks.append(len(times))
        return False

    monkeypatch.setattr(sampling, "_narrow", never)
    sample({"A": Work(1e-3)}, SyntheticClock(STILL, 0), StoppingRule(seconds=100, least=20, most=60))
    assert blocks == [20, 25, 32, 40, 50]


def test_sampling_stops_when_the_ratios_are_known() -> None:
    found = sample({"A": Work(1e-3), "B": Work(2e-3)}, SyntheticClock(STILL, 0), StoppingRule(seconds=100, least=20))
    assert found.times["A"].shape == found.times["B"].shape == (20, 2)


def test_sampling_stops_when_the_time_is_up() -> None:
    clock = SyntheticClock(Machine(noise=0.5), 0)
    found = sample({"A": Work(0.01), "B": Work(0.01)}, clock, StoppingRule(seconds=1.0, least=10, most=10**6))
    assert 1.0 <= sum(t.sum() for t in found.times.values()) < 1.5


def test_raw_samples_are_seconds_a_call() -> None:
    found = sample({"A": Work(1e-6)}, SyntheticClock(STILL, 0), StoppingRule(seconds=0.1))
    assert found.inner["A"] >= 200
    assert np.allclose(found.times["A"], 1e-6)


def test_a_planted_factor_is_exact() -> None:
    works = {"A": Work(1e-6), "B": Work(1e-6)}
    found = sample(works, SyntheticClock(STILL, 0), StoppingRule(seconds=0.1), repeats={"B": 1.05}, inner=20)
    assert np.allclose(found.times["B"] / found.times["A"], 1.05)


class FakeTime:
    """The two clocks of `time`, which go on by what is spent, and by a little whenever they are read."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        self.now += 1e-7
        return self.now

    def perf_counter_ns(self) -> int:
        return round(self.perf_counter() * 1e9)

    def work(self, seconds: float) -> Callable[[], None]:
        def call() -> None:
            self.now += seconds

        return call


@pytest.mark.parametrize("factor", [1.05, 1.6])
@pytest.mark.parametrize(
    ("seconds", "calls"),
    [(1e-4, 20), (1e-3 - 1e-5, 20), (1.1e-3, 1), (0.015, 1)],
    ids=["20 short calls", "20 calls at the limit", "waited for, beyond it", "waited for"],
)
def test_a_planted_factor_is_exact_on_the_wall_clock_and_never_makes_samples_long(
    monkeypatch: pytest.MonkeyPatch, seconds: float, calls: int, factor: float
) -> None:
    fake = FakeTime()
    monkeypatch.setattr(clocks, "NOW", fake.perf_counter)
    work, clock = fake.work(seconds), clocks.WallClock(fake.perf_counter_ns)
    found = sample({"A": work, "B": work}, clock, StoppingRule(seconds=2.0), repeats={"B": factor}, inner=20)
    assert found.inner == {"A": calls, "B": calls}
    assert np.allclose(found.times["B"] / found.times["A"], factor, rtol=2e-3)
    assert found.times["A"].max() * calls <= 0.021


class Failing:
    """Works so many times, then raises."""

    def __init__(self, times: int) -> None:
        self.left = times

    def __call__(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise RuntimeError("out of luck\nand more lines")


class Calling:
    """A clock on which everything takes a second, and is really called."""

    resolution = 1e-7

    def time(self, function: Callable[[], Any], count: int) -> float:
        for _ in range(count):
            function()
        return float(count)


@pytest.mark.parametrize("calls", [0, 3, 25, 26, 27])
def test_a_function_that_fails_leaves_the_others_their_times(calls: int) -> None:
    functions = {"bad": Failing(calls), "good": Failing(10**9), "base": Failing(10**9)}
    found = sample(functions, Calling(), StoppingRule(seconds=1e9, least=20, most=20), baseline="base")
    assert found.failed == {"bad": "RuntimeError: out of luck"}
    assert set(found.times) == {"good", "base"}
    assert found.times["good"].shape == found.times["base"].shape == (20, 2)


def test_all_may_fail() -> None:
    found = sample({"a": Failing(0), "b": Failing(9)}, Calling(), StoppingRule(seconds=1e9))
    assert found.times == {}
    assert set(found.failed) == {"a", "b"}


def test_who_runs_is_told_before() -> None:
    """Before every sample: a call may take nearly the time after which silence is a hang."""
    told: list[tuple[str, str] | str] = []

    class Noting(Calling):
        def time(self, function: Callable[[], Any], count: int) -> float:
            told.append("sample")
            return super().time(function, count)

    sample(
        {"A": Failing(10**9)},
        Noting(),
        StoppingRule(seconds=1e9, least=1, most=1),
        before_call=lambda *a: told.append(a),
    )
    assert told[1::2] == ["sample"] * (len(told) // 2)
    assert set(told[:-4:2]) == {("A", "warm-up")} and len(told) > 20
    assert told[-4::2] == [("A", "timing"), ("A", "timing")]


def test_many_short_calls_spend_the_time_of_all_of_them() -> None:
    clock = SyntheticClock(Machine(noise=0.5), 0)
    found = sample({"A": Work(1e-6), "B": Work(1e-6)}, clock, StoppingRule(seconds=0.1, least=10, most=10**5))
    assert 0.1 <= sum(found.inner[name] * t.sum() for name, t in found.times.items()) < 0.15


def test_one_window_tells_nothing_of_a_warm_up() -> None:
    assert warm_up(Work(1.0), Told([1.0]), 0.5) == ([1.0] * 4, False)
