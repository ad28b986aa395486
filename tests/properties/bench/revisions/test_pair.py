"""A round of two processes: who runs when, on which cores, and what is believed of what they say."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from attention_core.bench.revisions.pair import (
    Ends,
    Seat,
    TurnClock,
    Unjudged,
    Waited,
    cores_of_round,
    doubt,
    measure_round,
)
from attention_core.bench.revisions.rounds import RoundRule
from attention_core.worker.frames import receive, send


class Recorder:
    """A clock that writes down which function it runs."""

    resolution = 1e-7

    def __init__(self) -> None:
        self.order: list[str] = []

    def time(self, function: Any, count: int) -> float:
        self.order.append(function())
        return 0.01 * count


@pytest.mark.parametrize(("number", "first"), [(0, "base"), (1, "head"), (2, "base")])
def test_revisions_take_turns_and_so_do_rounds(number: int, first: str) -> None:
    clock, second = Recorder(), {"base": "head", "head": "base"}[first]
    times = measure_round((lambda: "base", lambda: "head"), clock, RoundRule(seconds=1.0), number)
    blocks = len(times.base)
    assert times.base.shape == times.head.shape == (blocks, 2) and blocks >= 2
    order = clock.order[-4 * blocks :]
    assert order[:8] == [first, second, second, first, second, first, first, second]


def test_cores_are_the_same_for_both_and_others_in_the_next_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {2, 5, 7}, raising=False)
    monkeypatch.setattr(os, "sched_setaffinity", lambda pid, cores: None, raising=False)
    assert [cores_of_round(n, 1, "cpu") for n in range(4)] == [[2], [5], [7], [2]]
    assert cores_of_round(1, 2, "cpu") == [7, 2]
    assert cores_of_round(0, 4, "cpu") == [] and cores_of_round(0, 1, "cuda") == []


@pytest.mark.parametrize(
    ("here", "there", "computed", "words"),
    [
        (60.0, 2.0, 2.0, ""),  # a busy machine let it wait
        (3.0, 2.0, 9.0, "it computed for 9 s"),  # a clock that is too slow
        (3.0, 9.0, 2.0, "they took 3 s"),  # a clock that is too fast
    ],
)
def test_a_clock_that_cannot_be_right_is_not_believed(here: float, there: float, computed: float, words: str) -> None:
    found = doubt(here, there, computed)
    assert words in found and bool(found) == bool(words)


class FakeProcess:
    """The pipes of a worker, and nothing behind them."""

    def __init__(self) -> None:
        (self.read, self.say), (child_reads, write) = os.pipe(), os.pipe()
        (read, self.answer) = os.pipe()
        self.listen = child_reads
        self.pipes = [(self.read, -1), (read, write)]

    def watch(self, expired: Any) -> Any:
        return expired


@contextmanager
def seat() -> Iterator[tuple[Seat, FakeProcess]]:
    process = FakeProcess()
    try:
        yield Seat(0, Ends(process), 5.0, os.getpid(), 1), process  # type: ignore[arg-type]
    finally:
        for end in (process.read, process.say, process.listen, process.answer, *process.pipes[1]):
            os.close(end)


def test_a_sample_is_asked_for_and_timed_elsewhere() -> None:
    with seat() as (one, process):
        send(process.answer, {"event": "alive"})
        send(process.answer, {"event": "sample", "seconds": 0.25, "whole": 0.3})
        assert TurnClock(1e-7).time(one, 7) == 0.25
        assert receive(process.listen) == {"do": "sample", "count": 7, "clock": "wall"}
        assert one.there == 0.3 and one.here >= 0


WRONG = {"out": {"rms": 1.0, "max": 2.0, "over_bound": 9.0, "refuted": True}}
RIGHT = {"out": {"rms": 0.0, "max": 0.0, "over_bound": 0.1, "refuted": False}}


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([{"event": "checked", "errors": WRONG, "gave": [1]}], "it is wrong: on these inputs: the error of out"),
        ([{"event": "failed_kernel", "message": "raised ValueError: no"}], "raised ValueError: no"),
        ([{"event": "refused", "message": "t.py has no attribute 'f'"}], "has no attribute"),
        ([{"event": "checked", "errors": RIGHT, "gave": [1]}, {"event": "done"}], "its process ended early"),
    ],
)
def test_a_kernel_that_is_not_ready_is_not_judged(messages: list[dict[str, Any]], words: str) -> None:
    with seat() as (one, process):
        for message in messages:
            send(process.answer, message)
        with pytest.raises(Unjudged, match=words) as raised:
            one.wait_for("ready")
        assert raised.value.side == 0


def test_a_process_that_ends_says_how() -> None:
    with seat() as (one, process):
        send(process.say, {"event": "ended", "seat": 0, "status": -9})
        with pytest.raises(Unjudged, match="its process was ended by signal SIGKILL"):
            one.wait_for("ready")


def test_the_end_of_the_other_process_is_not_its_own() -> None:
    """One that is wrong ends while the other is still judged."""
    with seat() as (one, process):
        send(process.say, {"event": "ended", "seat": 1, "status": 0})
        threading.Timer(0.3, send, (process.answer, {"event": "ready"})).start()
        assert one.wait_for("ready") == {"event": "ready"} and one.ends.known == {1: 0}


def test_what_was_judged_is_kept() -> None:
    with seat() as (one, process):
        send(process.answer, {"event": "checked", "errors": RIGHT, "gave": [4, 5]})
        send(process.answer, {"event": "ready", "resolutions": {"wall": 1e-7}, "computes": False})
        one.get_ready()
        assert one.judged.errors == RIGHT and one.judged.gave == [4, 5] and one.resolutions["wall"] == 1e-7


@pytest.mark.parametrize(
    ("clock", "waits", "raises"), [("processor", 2, True), ("processor", 1, False), ("wall", 9, False)]
)
def test_processor_time_is_not_taken_of_what_waits(clock: str, waits: int, raises: bool) -> None:
    with seat() as (one, process):
        one.clock, one.samples, one.computed = clock, 10, 1e9
        send(process.answer, {"event": "finished", "waits": waits})
        send(process.answer, {"event": "done"})
        if raises:
            with pytest.raises(Waited):
                one.finish()
        else:
            one.finish()
