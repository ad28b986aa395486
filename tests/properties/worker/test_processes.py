"""When a process that does not answer has had its time.

Patience with a process, on clocks that the tests turn: no test waits. Ends of real processes: test_isolation.py.
"""

from __future__ import annotations

import os

from attention_core.worker.processes import BUSY, Patience, processor_time


class Simulated:
    """A process that computes a share of the time, or sleeps; `step` turns its clock."""

    def __init__(self, share: float, runs: bool = True) -> None:
        self.now = self.used = 0.0
        self.share, self.runs = share, runs

    def step(self, seconds: float = 0.25) -> None:
        self.now += seconds
        self.used += self.share * seconds

    def ends_at(self, limit: float) -> tuple[float, str]:
        patience = Patience(0, limit, clock=lambda: self.now, look=lambda pid: (self.used, self.runs))
        while True:
            self.step()
            if patience.is_expired():
                return self.now, patience.words()


def test_a_process_that_computes_alone_ends_at_the_limit() -> None:
    assert Simulated(1.0).ends_at(10) == (10.0, "within 10 s")


def test_a_process_that_sleeps_ends_at_the_limit() -> None:
    assert Simulated(0.0, runs=False).ends_at(10) == (10.0, "within 10 s")


def test_many_threads_do_not_end_a_call_before_the_limit_by_the_clock() -> None:
    assert Simulated(8.0).ends_at(10)[0] == 10.0


def test_a_process_that_a_busy_machine_makes_wait_has_more_time_and_this_is_said() -> None:
    at, words = Simulated(0.25).ends_at(10)
    assert 39 <= at <= 40
    assert words == "within 10 s of its own (39 s by the clock, as the machine was busy)"


def test_a_process_that_never_gets_a_processor_ends_all_the_same() -> None:
    at, words = Simulated(0.0).ends_at(10)
    assert at == BUSY * 10
    assert words == "within 100 s, of which a busy machine left it 0.2 s to run"


def test_the_time_of_this_process_is_read() -> None:
    before, _ = processor_time(os.getpid())
    total = sum(i * i for i in range(2_000_000))
    after, runs = processor_time(os.getpid())
    assert total > 0
    assert runs
    assert after > before


def test_a_process_that_is_gone_has_used_nothing() -> None:
    assert processor_time(2**22 + 1) == (0.0, False)
