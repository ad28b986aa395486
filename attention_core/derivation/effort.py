"""The effort that a step is given, and a ceiling on its processor time.

Effort says how much is tried for one relation, and what is reported where its time runs out. Each number may be
raised for a document that deserves it; `--seconds` is one of them.

The ceiling is the last resort against a step that takes too long: seconds of processor time, polled in hot loops, so
that load on the machine does not count. Verdicts are bounded by counts (operations, digits, terms); this only ends
what slips through those.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

_ENDS: ContextVar[float] = ContextVar("ends", default=float("inf"))
TICK = 0.001  # seconds between two readings of the processor's clock


class OutOfTime(Exception):
    """A step has reached its ceiling; it ends UNDECIDED."""


@contextmanager
def ceiling(seconds: float) -> Iterator[None]:
    """Within, `on_time` raises after so many seconds of processor time; an outer ceiling stays.

    Example:
        >>> with ceiling(60.0):
        ...     on_time()
    """
    token = _ENDS.set(min(_ENDS.get(), time.process_time() + seconds))
    try:
        yield
    finally:
        _ENDS.reset(token)


class _Clock:
    """The processor time of the process, at most a tick old.

    Reading it costs a system call, fifteen times as much as reading the wall clock: where hot loops poll, it is read
    again only after a tick of wall time.
    """

    def __init__(self) -> None:
        self.read, self.seconds = float("-inf"), 0.0

    def __call__(self) -> float:
        now = time.perf_counter()
        if now - self.read > TICK:
            self.read, self.seconds = now, time.process_time()
        return self.seconds

    def forget(self) -> None:
        """Read anew next time: the processor time of a forked process starts at 0."""
        self.read = float("-inf")


processor_time = _Clock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=processor_time.forget)


def on_time() -> None:
    """Raise `OutOfTime` behind the ceiling."""
    if processor_time() > _ENDS.get():
        raise OutOfTime


LATE = (
    "the time of a step ran out before all sizes were tried: split the step, give its parts names of their own, "
    "or give it more time (--seconds)"
)
SECONDS = 8.0  # of processor time for one step
CEILING = 1.15  # of a step's time: what it does in one go may take longer than planned


@dataclass(frozen=True)
class Effort:
    """How much is tried.

    `small` cases at each small tuple, fewer where `total` would be passed; `tuples` larger tuples with `large` cases
    each; for an inequality `altered` cases that differ a little from the tightest one, shared among the tuples,
    `climb` at each at least; `ladder` operations at sizes far larger; without `proofs` a step that holds AGREES
    at best; `seconds` of processor time for one step, of which a stage may take a share.
    """

    small: int = 9
    tuples: int = 4
    large: int = 4
    seconds: float = field(default_factory=lambda: SECONDS)
    seed: int = 0
    total: int = 320
    climb: int = 6
    altered: int = 320
    ladder: int = 60_000
    proofs: bool = True
