"""The first and the last calls of a run: what a counterexample may need before it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np

from attention_core.conformance.worker.exchange import Array, Request

KEPT = 1000
"""So many first and so many last calls are kept."""
FEW = 8
SHORT = 24
READABLE = 2048
"""Numbers in the arrays of a call that a program may write out, and in those of a short one."""


class History:
    """The first and the last calls of a run that are small enough to stand in a program."""

    def __init__(self) -> None:
        self.first: list[Request] = []
        self.last: deque[Request] = deque(maxlen=KEPT)

    def note(self, request: Request) -> None:
        """Keep a call."""
        if numbers_of(request) > READABLE or request.describe or request.between is not None or request.earlier:
            return
        if len(self.first) < KEPT:
            self.first.append(request)
        else:
            self.last.append(request)

    def blocks(self) -> Iterator[list[Request]]:
        """Calls one after the other: the short ones, the last few, the first of the run, and the last."""
        last = list(self.last) or self.first[-KEPT:]
        yield [request for request in (*self.first, *self.last) if numbers_of(request) <= SHORT]
        yield last[-FEW:]
        yield self.first
        yield last


def numbers_of(request: Request) -> int:
    """How many numbers the arrays of a call hold, the parameters of a module included."""
    arrays = [*request.args, *request.kwargs.values(), *(request.parameters or {}).values()]
    return sum(int(np.size(a.base)) for a in arrays if isinstance(a, Array))
