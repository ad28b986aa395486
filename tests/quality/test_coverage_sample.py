"""The sample of coverage: the first parameters of a test are traced, the others are not, and a debugger always is."""

from __future__ import annotations

import os
import sys
from types import FrameType, SimpleNamespace
from typing import Any

import coverage_sample
import pytest


def items(*names: str) -> list[Any]:
    """Stand-ins of collected tests; each has the mark of its file's stem."""
    marks = {name: name.partition("::")[0].removesuffix(".py") for name in names}
    return [
        SimpleNamespace(nodeid=name, stash=pytest.Stash(), get_closest_marker={marks[name]: True}.get) for name in names
    ]


def test_the_first_parameters_of_each_function_are_measured() -> None:
    names = [f"a.py::test_{n}[{k}-x[0]]" for k in range(6) for n in "fg"] + ["unmeasured.py::test_f[0]", "a.py::test_h"]
    found = items(*names)
    coverage_sample.choose(found)
    beyond = [item.nodeid for item in found if item.stash[coverage_sample.BEYOND]]
    assert beyond == [
        "a.py::test_f[4-x[0]]", "a.py::test_g[4-x[0]]", "a.py::test_f[5-x[0]]", "a.py::test_g[5-x[0]]",
        "unmeasured.py::test_f[0]",
    ]  # fmt: skip


class Tracer:
    """A tracer that takes nothing down; coverage's is told by the module of its type."""

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        return None


@pytest.mark.parametrize(
    ("module", "beyond", "stays"),
    [("coverage.tracer", True, False), ("coverage.tracer", False, True), ("pdb", True, True)],
)
def test_only_the_tracer_of_coverage_is_put_aside(
    monkeypatch: pytest.MonkeyPatch, module: str, beyond: bool, stays: bool
) -> None:
    monkeypatch.setenv("COVERAGE_PROCESS_CONFIG", "settings")  # what a child looks for at its start
    (item,) = items("a.py::test_f[9]")
    item.stash[coverage_sample.BEYOND] = beyond
    before, tracer = sys.gettrace(), type("Tracer", (Tracer,), {"__module__": module})()
    sys.settrace(tracer)
    try:
        with pytest.raises(KeyError), coverage_sample.measured(item):
            inside, child = sys.gettrace(), "COVERAGE_PROCESS_CONFIG" in os.environ
            raise KeyError
        after = sys.gettrace()
    finally:
        sys.settrace(before)
    assert (inside is tracer) is stays is child and after is tracer
    assert os.environ["COVERAGE_PROCESS_CONFIG"] == "settings"
