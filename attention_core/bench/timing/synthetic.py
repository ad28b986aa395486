"""Synthetic clocks: machines whose noise is known, to measure how often a rule of decision is wrong.

A simulated function is its true time; the machine multiplies it by noise, drift and throttling, and adds bursts in
which somebody else has the processor. Time passes as the functions run, so that blocks see what they would see.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Machine:
    """What a machine does to the times of what runs on it.

    Args: noise, standard deviation of the logarithm of each sample; drift, relative change of speed a second; wander,
        standard deviation of the logarithm of speed's random walk over a second; bursts, how many a second begin;
        burst, their mean length in seconds; cost, the share of the processor they take; throttle, the share of the
        time at which the clock runs at 0.7 of its rate, in stretches of `stretch` seconds.
    """

    noise: float = 0.01
    drift: float = 0.0
    wander: float = 0.0
    bursts: float = 0.0
    burst: float = 0.02
    cost: float = 0.5
    throttle: float = 0.0
    stretch: float = 0.5


MACHINES = {
    "quiet": Machine(),
    "noisy": Machine(noise=0.05),
    "drifting": Machine(noise=0.02, drift=0.05),
    "wandering": Machine(noise=0.02, wander=0.1),
    "bursts": Machine(noise=0.02, bursts=5.0, burst=0.02),
    "shared": Machine(noise=0.03, wander=0.05, bursts=15.0, burst=0.01, cost=0.6),
    "throttled": Machine(noise=0.02, throttle=0.3),
}
"""Machines by name, from a quiet one to a shared and a throttled one."""


class SyntheticClock:
    """A clock of a simulated machine; "functions" are the numbers they last, hidden in a `Work`.

    Example:
        >>> round(SyntheticClock(MACHINES["quiet"], seed=1).time(Work(1e-3), 10), 3)
        0.01
    """

    resolution = 1e-7

    def __init__(self, machine: Machine, seed: int) -> None:
        self.machine, self.rng = machine, np.random.default_rng(seed)
        self.now, self.wandered = 0.0, 0.0
        self.next_burst = self._wait(machine.bursts)
        self.slow, self.changes = False, self._wait(1 / machine.stretch)

    def _wait(self, rate: float) -> float:
        return self.now + (float(self.rng.exponential(1 / rate)) if rate else math.inf)

    def time(self, function: Callable[[], object], count: int) -> float:
        """Seconds that `count` calls of a `Work` would take now."""
        assert isinstance(function, Work)
        m = self.machine
        rate = math.exp(m.noise * self.rng.standard_normal() + self.wandered) * (1 + m.drift * self.now)
        if m.throttle and self.now > self.changes:
            self.slow = bool(self.rng.random() < m.throttle)
            self.changes = self._wait(1 / m.stretch)
        seconds = function.seconds * count * rate / (0.7 if self.slow else 1.0)
        end = self.now + seconds
        while self.next_burst < end:
            lost = float(self.rng.exponential(m.burst)) * m.cost
            seconds, end = seconds + lost, end + lost
            self.next_burst += lost + float(self.rng.exponential(1 / m.bursts))
        self.now = end
        self.wandered += m.wander * math.sqrt(seconds) * float(self.rng.standard_normal())
        return seconds


@dataclass(frozen=True)
class Work:
    """Something that takes `seconds` on an undisturbed machine."""

    seconds: float

    def __call__(self) -> None:
        """Nothing: only a `SyntheticClock` knows how long it takes."""
