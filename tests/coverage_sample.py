"""Coverage of a sample: of each test function the first parameters are measured, the others run at full speed.

Coverage asks which lines some test reaches. The tracer of Python 3.11 makes pure Python up to three times slower, and the
hundredth parameter of a function seldom reaches a line that the first ones did not. Nor do whole documents and tutorials
that tests of each part have gone through before: they have the mark `unmeasured`. Every test runs all the same.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pytest

MEASURED = 4
"""Parameters of a test function that are measured."""
BEYOND = pytest.StashKey[bool]()


def is_measuring() -> bool:
    """Whether coverage traces this process."""
    return type(sys.gettrace()).__module__.startswith("coverage")


def choose(items: Iterable[pytest.Item]) -> None:
    """Note of every test whether it is marked, or stands behind the measured parameters of its function."""
    seen = Counter[str]()
    for item in items:
        function = item.nodeid.partition("[")[0]
        marked = item.get_closest_marker("unmeasured") is not None
        item.stash[BEYOND] = marked or seen[function] >= MEASURED
        seen[function] += 1


@contextmanager
def measured(item: pytest.Item) -> Iterator[None]:
    """Run a test; without the tracer of coverage, if there is one and the test stands behind those that are measured.

    So do processes that it starts. A debugger's tracer stays.
    """
    tracer = sys.gettrace()
    if not item.stash.get(BEYOND, False) or not is_measuring():
        yield
        return
    asked = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("COVERAGE_PROCESS")}
    sys.settrace(None)
    try:
        yield
    finally:
        sys.settrace(tracer)
        os.environ.update(asked)
