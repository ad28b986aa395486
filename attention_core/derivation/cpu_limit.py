"""A ceiling on the processor time of one step.

The last resort against a step that takes too long: a ceiling in seconds of processor time, looked at wherever work
is done in bulk, so that a busy machine takes none away.
Verdicts are bounded by counts (operations, digits, terms); this only ends what slips through those.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_ENDS: ContextVar[float] = ContextVar("ends", default=float("inf"))


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


def on_time() -> None:
    """Raise `OutOfTime` behind the ceiling."""
    if time.process_time() > _ENDS.get():
        raise OutOfTime
