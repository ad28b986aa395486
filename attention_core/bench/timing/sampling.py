"""Samples of several functions in one process, interleaved in rotated A B B A blocks, until the ratios are known.

In a block every function runs twice, in an order and then in its reverse, so that a linear drift of the machine's speed
falls on all alike; the next block starts one function further. Whatever the machine does in between hits all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from attention_core.bench.timing.clocks import Clock, WallClock, slow_down
from attention_core.bench.timing.statistics import SHOWN, effective_count, log_ratios, median_interval

RESOLUTIONS = 100
"""A sample lasts at least so many steps of the clock."""
LEAST_SAMPLE = 200e-6
"""Seconds that a sample should last at least: shorter ones see little of a call but its start."""
LONGEST_SAMPLE = 0.02
"""Seconds that a sample is not made longer than for the sake of whole calls: the longer, the less do blocks share."""
WINDOW = 4
"""Samples of one window of the warm-up."""
LEAST = 10
"""Blocks that are measured whatever the budget: with fewer, no interval can decide anything."""
SETTLED = 0.02
"""A window that is not faster than those before by more than this ends the warm-up."""
WINDOWS = 12
"""Most windows; a kernel that still gets faster then is reported as warming up."""
Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class StoppingRule:
    """When to stop.

    Args: seconds, the budget of all functions together; least, most blocks; width, half the width of every ratio's 95 %
        interval at which it is narrow enough (a rule on the width alone, so that stopping does not favour an answer);
        floor, blocks that are measured whatever the budget.
    """

    seconds: float = 10.0
    least: int = 20
    most: int = 400
    width: float = 0.005
    floor: int = LEAST


@dataclass
class Samples:
    """What was measured: seconds a call.

    Args: times, function -> (blocks, 2), as they came; inner, calls a sample; first, seconds of the first call;
        warm_up, the samples before; settled, whether the warm-up ended by itself; failed, function -> what it raised.
    """

    times: dict[str, Array]
    inner: dict[str, int]
    first: dict[str, float]
    warm_up: dict[str, list[float]]
    settled: dict[str, bool]
    failed: dict[str, str] = field(default_factory=dict)


def warm_up(
    function: Callable[[], Any], clock: Clock, seconds: float, before_call: Callable[[], None] = lambda: None
) -> tuple[list[float], bool]:
    """Samples of single calls until a window is not faster than the ones before it.

    Args: before_call, is called before every sample: each may take as long as one call is allowed to.
    Returns: the samples, and whether they settled within the time.
    """
    taken: list[float] = []
    best = math.inf
    for _ in range(WINDOWS):
        window = []
        for _ in range(WINDOW):
            before_call()
            window.append(clock.time(function, 1))
        taken += window
        if min(window) > best * (1 - SETTLED):
            return taken, True
        best = min(best, *window)
        if sum(taken) > seconds:
            return taken, len(taken) > WINDOW
    return taken, False


def calls_per_sample(seconds: float, resolution: float) -> int:
    """How often a function of so many seconds runs in one sample."""
    wanted = max(RESOLUTIONS * resolution, LEAST_SAMPLE)
    return max(1, math.ceil(wanted / max(seconds, 1e-9)))


def order_of(block: int, names: list[str]) -> list[str]:
    """The order of a block: rotated by its number, and back.

    Example:
        >>> order_of(1, ["A", "B"])
        ['B', 'A', 'A', 'B']
    """
    start = block % len(names)
    turned = names[start:] + names[:start]
    return turned + turned[::-1]


def sample(
    functions: Mapping[str, Callable[[], Any]],
    clock: Clock,
    plan: StoppingRule,
    *,
    baseline: str = "",
    repeats: Mapping[str, float] | None = None,
    inner: int = 1,
    before_call: Callable[[str, str], None] = lambda name, phase: None,
    caught: type[BaseException] = Exception,
) -> Samples:
    """Warm up and time functions side by side; one that raises is left out from there on.

    Args: functions, name -> call without arguments; baseline, whom the stopping rule compares with (the first by
        default); repeats, name -> factor on the calls of its samples, which plants a known slow-down in a test of the
        harness; inner, calls a sample at least, so that such factors are whole calls (where these take too long, each
        call is waited for that much longer, by the wall clock); before_call, gets (name, phase) before a function
        runs; caught, what a function may raise: in a worker everything.
    Returns: Samples; functions that failed have no times.
    """
    found = Samples({}, {}, {}, {}, {})
    running = dict(functions)
    for name in functions:
        try:
            _warm_up_one(name, functions[name], clock, plan, found, partial(before_call, name, "warm-up"))
        except caught as error:
            _drop(name, error, running, found)
    repeats = _plant(repeats or {}, inner, running, clock, found)
    taken: dict[str, list[list[float]]] = {name: [] for name in running}
    baseline = baseline if baseline in running else next(iter(running), "")
    spent, check = 0.0, plan.least
    for block in range(plan.most if running else 0):
        times = _block(block, running, clock, found, repeats, before_call, caught)
        for name, pair in times.items():
            taken[name].append(pair)
            spent += sum(pair) * found.inner[name]
        if not running or (block + 1 >= plan.floor and spent > plan.seconds):
            break
        if block + 1 >= check:
            check = math.ceil(1.25 * check)
            if all(_narrow(taken[name], taken[baseline], plan.width) for name in running if baseline in running):
                break
    found.times = {name: np.array(taken[name]) for name in running}
    return found


def _warm_up_one(
    name: str, function: Callable[[], Any], clock: Clock, plan: StoppingRule, found: Samples, alive: Callable[[], None]
) -> None:
    """Warm up one function, and find how many of its calls make a sample; `alive` is called before it runs."""
    alive()
    found.first[name] = clock.time(function, 1)
    found.warm_up[name], found.settled[name] = warm_up(function, clock, plan.seconds / 10, alive)
    count = calls_per_sample(min(found.warm_up[name]), clock.resolution)
    alive()
    # a second estimate from a whole sample: single short calls are mostly the clock's own cost
    found.inner[name] = calls_per_sample(clock.time(function, count) / count, clock.resolution)


def _plant(
    repeats: Mapping[str, float], inner: int, running: dict[str, Callable[[], Any]], clock: Clock, found: Samples
) -> Mapping[str, float]:
    """Samples of as many calls as make the factors whole; where these take too long, calls that wait.

    Returns: the factors on the calls of a sample that are left.
    """
    longest = max((min(found.warm_up[name]) for name in running), default=0.0)
    if inner * longest <= LONGEST_SAMPLE or not isinstance(clock, WallClock):
        for name in running:
            found.inner[name] = inner * math.ceil(found.inner[name] / inner)
        return repeats
    for name in running.keys() & repeats.keys():
        running[name] = slow_down(running[name], repeats[name])
    return {}


def _narrow(times: list[list[float]], base: list[list[float]], width: float) -> bool:
    if times is base:
        return True
    ratios = log_ratios(np.array(times), np.array(base))
    found = median_interval(ratios, SHOWN, effective_count(ratios))
    return (found.high - found.low) / 2 <= width


def _block(
    number: int, running: dict[str, Callable[[], Any]], clock: Clock, found: Samples, repeats: Mapping[str, float],
    before_call: Callable[[str, str], None], caught: type[BaseException],
) -> dict[str, list[float]]:  # fmt: skip
    """One block: every function twice; what fails on the way is taken out of `running`."""
    times: dict[str, list[float]] = {}
    for name in order_of(number, list(running)):
        if name not in running:
            continue
        before_call(name, "timing")
        count = max(1, round(found.inner[name] * repeats.get(name, 1.0)))
        try:
            seconds = clock.time(running[name], count)
        except caught as error:
            _drop(name, error, running, found)
            times.pop(name, None)
            continue
        times.setdefault(name, []).append(seconds / found.inner[name])
    return times


def _drop(name: str, error: BaseException, running: dict[str, Callable[[], Any]], found: Samples) -> None:
    from attention_core.declaration.implementation import summarize_error

    del running[name]
    found.failed[name] = summarize_error(error)
