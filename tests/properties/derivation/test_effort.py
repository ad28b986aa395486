"""The processor's clock that hot loops poll."""

from __future__ import annotations

import pytest

from attention_core.derivation import effort


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Wall and processor time, set by hand, and how often the latter was read."""
    now = {"wall": 5.0, "processor": 2.0, "readings": 0.0}

    def processor() -> float:
        now["readings"] += 1
        return now["processor"]

    monkeypatch.setattr(effort.time, "perf_counter", lambda: now["wall"])
    monkeypatch.setattr(effort.time, "process_time", processor)
    monkeypatch.setattr(effort, "processor_time", effort._Clock())
    return now


def test_the_processor_s_clock_is_read_once_a_tick(clocks: dict[str, float]) -> None:
    assert [effort.processor_time() for _ in range(100)] == [2.0] * 100
    assert clocks["readings"] == 1
    clocks.update(wall=5.0 + 2 * effort.TICK, processor=3.0)
    assert effort.processor_time() == 3.0
    assert clocks["readings"] == 2


def test_a_ceiling_ends_a_step_after_the_next_tick(clocks: dict[str, float]) -> None:
    with effort.ceiling(1.0):
        effort.on_time()
        clocks.update(wall=6.0, processor=3.5)
        with pytest.raises(effort.OutOfTime):
            effort.on_time()


def test_a_forked_process_reads_its_own_clock(clocks: dict[str, float]) -> None:
    assert effort.processor_time() == 2.0
    clocks.update(processor=0.0)
    effort.processor_time.forget()
    assert effort.processor_time() == 0.0
