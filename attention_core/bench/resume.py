"""Going on from the results of an earlier run: what must be the same, and the kernels a cell is measured with again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attention_core.bench.known_failures import Known, as_words, known_of
from attention_core.bench.report.results import Cell, Results
from attention_core.bench.targets import Named, read_target
from attention_core.bench.verdicts import source
from attention_core.declaration.implementation import TargetError

INSTEAD = "name another --json file"
"""The way out: without --resume the finished cells of this one would be overwritten."""
MACHINE = {"processor": "machine", "cores": "number of cores", "device": "device"}


def check_same(previous: Results, now: Results) -> None:
    """Raises: TargetError where earlier cells were measured otherwise, or elsewhere."""
    for words, old, new in (
        ("setting ", previous.settings, now.settings),
        ("", {MACHINE[k]: previous.machine.get(k) for k in MACHINE}, {MACHINE[k]: now.machine[k] for k in MACHINE}),
        ("version of ", previous.versions, now.versions),
    ):
        for name in {**old, **new}:
            if old.get(name) != new.get(name):
                was, now_is = old.get(name, "not there"), new.get(name, "not there")
                raise TargetError(f"cannot resume: {words}{name} was {was}, and is {now_is}; {INSTEAD}")
    for cell in previous.cells:
        cell.workload.check_memory()


def check_sources(previous: Results, named: Mapping[str, Named], listed: Mapping[str, Known]) -> None:
    """Raises: TargetError where a kernel's file is not the one that was timed, or other failures of it are listed."""
    for name, kernel in named.items():
        verdict, now = previous.verdicts.get(name), source(kernel)
        if verdict is not None and verdict.get("source", now) != now:
            raise TargetError(f"cannot resume: the file of {name} has changed since; {INSTEAD}")
        if verdict is not None and verdict.get("known", "") != as_words(known_of(name, listed)):
            raise TargetError(f"cannot resume: {name} was judged by other known failures; {INSTEAD}")


def to_measure(cell: Cell | None, named: Mapping[str, Named], device: str) -> dict[str, Named]:
    """The kernels to measure on a workload: none where its cell has all that are asked for, else those and all that
    the cell has. A ratio needs its kernels in one run, and no finished column is lost.

    Raises: TargetError where one of the cell's kernels cannot be read any more.
    """
    if cell is None:
        return dict(named)
    if all(name in cell.kernels for name in named):
        return {}
    found = dict(named)
    for name in cell.kernels:
        if name not in found:
            try:
                found[name] = read_target(name, device)
            except TargetError as error:
                raise TargetError(
                    f"cannot resume: {name} was measured in the same cell, and {error}; {INSTEAD}"
                ) from None
    return found


def join_limits(earlier: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Limits of more dtypes beside the earlier ones; the rates without a dtype stay those that cells were held to."""
    return {**more, **earlier, "flops": {**earlier.get("flops", {}), **more["flops"]}}
