"""One kernel of one revision in a process of its own: judged first, then timed whenever the parent says so.

Two of these take turns: while one runs, the other waits for its message, on the same cores.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from attention_core.bench.timing.clocks import NOW, clock_for, clock_of_processor
from attention_core.bench.timing.sampling import LONGEST_SAMPLE
from attention_core.bench.worker.measure import Measurement
from attention_core.declaration.implementation import TargetError, summarize_error
from attention_core.worker.frames import Tell, receive

KERNEL = "kernel"
"""The name of the only column of a measurement."""
LOOKS = 5
"""Calls that are looked at before their processor time is taken for their time."""
HARNESS, INSTALLED = "attention_core", "site-packages"


def take_turns(job: dict[str, Any], tell: Tell) -> None:
    """Judge the kernel, say that it is ready, and answer every request for a sample until the order to finish.

    Args:
        job: as `revisions.pair` writes it: the place, the target, the pipe to listen to.
        tell: sends a message: "checked" and "failed_kernel" as `measure` does, "ready", "sample", "finished".

    Raises:
        TargetError: the target is loaded from elsewhere than the place.
    """
    enter(job["place"])
    if job.get("cores"):
        os.sched_setaffinity(0, job["cores"])
    measurement = Measurement({**job, "kernels": {KERNEL: job["target"]}}, tell)
    measurement.judge()
    stray = find_stray(job["place"], job["target"])
    if stray:
        raise TargetError(stray)
    if KERNEL not in measurement.checked:
        return
    call = measurement.checked[KERNEL].call
    clocks = {"wall": clock_for(job["device"])}
    if job["device"] == "cpu" and job["threads"] == 1:
        clocks["processor"] = clock_of_processor()
    computes = "processor" in clocks and keeps_its_core(call.run)
    tell({"event": "ready", "resolutions": {n: clock.resolution for n, clock in clocks.items()}, "computes": computes})
    last, waits = 0.0, 0
    while True:
        request = receive(job["incoming"])
        if request["do"] == "finish":
            break
        start = NOW()
        measurement.before_kernel(KERNEL, "timing")
        try:
            if last < LONGEST_SAMPLE:  # the other revision's data lie in the caches
                call.run()
            before = count_waits()
            last = clocks[request["clock"]].time(call.run, request["count"])
            waits += count_waits() > before
        except BaseException as error:  # also SystemExit: it is the kernel's
            measurement.fails(KERNEL, f"raised {summarize_error(error)}")
            return
        tell({"event": "sample", "seconds": last, "whole": NOW() - start})
    measurement.look_again({"times": {KERNEL: []}, "again": False})
    tell({"event": "finished", "waits": waits})


def count_waits() -> int:
    """How often this process has given up its core by itself, to wait or to sleep."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw


def keeps_its_core(run: Callable[[], Any]) -> bool:
    """Whether calls compute on one core without waiting, so that their processor time is their time."""
    for _ in range(LOOKS):
        before, start, computed = count_waits(), NOW(), time.process_time()
        run()
        if count_waits() > before or time.process_time() - computed > 1.05 * (NOW() - start) + 1e-3:
            return False
    return True


def enter(place: Mapping[str, Any]) -> None:
    """Go to the folder of a revision, and find modules there that would be found in the user's own."""
    root, checkout = Path(place["root"]), Path(place["checkout"])
    os.environ.update(place["variables"])
    os.chdir(place["folder"])
    found = move_paths(sys.path, root, checkout)
    source = str(checkout / "src")
    sys.path[:] = [source, *found] if Path(source).is_dir() and source not in found else found
    given = os.environ.get("PYTHONPATH", "")
    if given:
        os.environ["PYTHONPATH"] = os.pathsep.join(move_paths(given.split(os.pathsep), root, checkout))


def move_paths(paths: Iterable[str], root: Path, checkout: Path) -> list[str]:
    """Folders of a repository as those of a checkout; others, and those that the checkout lacks, stay as they are.

    An environment within the repository is among these: no revision holds it.
    """
    moved = []
    for text in paths:
        path = Path(text).resolve() if text else root.parent
        inside = checkout / path.relative_to(root) if path.is_relative_to(root) else path
        moved.append(str(inside) if text and inside != path and inside.is_dir() else text)
    return moved


def find_stray(place: Mapping[str, Any], target: str) -> str:
    """Why something was loaded from elsewhere than the revision, in a line; "" where all is as it should be."""
    root, checkout = Path(place["root"]), Path(place["checkout"])
    where = target.partition("@")[0].rpartition(":")[0]
    home = file_of(where)
    if home is not None and (not home.is_relative_to(checkout) or INSTALLED in home.parts):
        return f"{where} is loaded from {home}, which is not of this revision: an installed copy hides it"
    if root == checkout:
        return ""
    for name in sorted(sys.modules):
        path = None if name == HARNESS or name.startswith(f"{HARNESS}.") else file_of(name)
        if path is None or INSTALLED in path.parts or path.is_relative_to(checkout):
            continue
        if path.is_relative_to(root):
            return (
                f"it imports {name} from {path}, which is not of this revision: is that file built, or not committed?"
            )
    return ""


def file_of(name: str) -> Path | None:
    """The file that a module was loaded from."""
    file = getattr(sys.modules.get(name), "__file__", None)
    return Path(file).resolve() if isinstance(file, str) else None
