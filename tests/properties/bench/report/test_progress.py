"""Progress of benchmarks.

What is told while a benchmark runs: now and then in a log, on one changing line in a terminal, and nothing if that is
asked.
"""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from attention_core.bench.report.progress import EVERY, Telling


class Clock:
    """Seconds that pass when told."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def log(*, quiet: bool = False, terminal: bool = False) -> tuple[Telling, Clock, io.StringIO]:
    stream, clock = io.StringIO(), Clock()
    return Telling(quiet, Console(file=stream, force_terminal=terminal, width=80), clock), clock, stream


def test_a_log_gets_the_first_word_and_then_one_now_and_then() -> None:
    telling, clock, stream = log()
    clock.now += 50  # what passed before it began does not count
    with telling as told:
        told("cell 1 of 2: [3d] tensors")
        told("too soon")
        clock.now += EVERY - 1
        told("still too soon")
        clock.now += 1.5
        told("torch:flash: is it right?")
        clock.now += EVERY - 1
        told("too soon again")
    assert stream.getvalue().splitlines() == ["[0 s] cell 1 of 2: [3d] tensors", "[10 s] torch:flash: is it right?"]


def test_a_long_line_is_one_line() -> None:
    telling, _, stream = log()
    with telling as told:
        told("word " * 40)
    assert len(stream.getvalue().splitlines()) == 1


@pytest.mark.parametrize("terminal", [False, True])
def test_nothing_is_told_where_that_is_asked(terminal: bool) -> None:
    telling, _, stream = log(quiet=True, terminal=terminal)
    with telling as told:
        told("cell 1 of 2")
    assert stream.getvalue() == ""


def test_a_terminal_has_one_line_that_changes() -> None:
    telling, _, stream = log(terminal=True)
    assert telling.status is not None
    with telling as told:
        told("cell 1 of [3d]")
        assert str(telling.status.status) == "cell 1 of [3d]"
    assert "[0 s]" not in stream.getvalue()
