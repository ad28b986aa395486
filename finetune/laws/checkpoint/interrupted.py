"""What the laws of checkpoints hold in their hands: runs of training that are saved, broken off, and gone on with.

Checkpoints lie in the system's folder for temporary files, under names of their own; they are removed with their case.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import shutil
import signal
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from attention_core.conformance.subjects.evidence import Evidence, NotApplicable, Result, Shown, Violation
from attention_core.conformance.subjects.outcomes import LOST, check_response
from attention_core.conformance.subjects.parameter_case import ParameterCase, ParameterSubject, after
from attention_core.conformance.worker.exchange import NDArray, Request, Response

UNCLEAR = ("KeyError", "IndexError", "AttributeError", "NameError", "RecursionError")
"""Exceptions of code that met what it did not expect; they tell a user nothing."""
LONGEST = 500
"""Characters of the first line of a refusal."""
_numbers = count()


@dataclass
class Place:
    """Where one checkpoint lies: a path, and a word that everything belonging to it has in its name."""

    word: str

    @property
    def path(self) -> str:
        """The path; its numbers say nothing about what is in the file."""
        return str(Path(tempfile.gettempdir()) / f"{self.word}epoch-7.step-1900")

    def entries(self) -> list[Path]:
        """What lies there, at the path and beside it."""
        return sorted(p for p in Path(tempfile.gettempdir()).iterdir() if self.word in p.name)

    def files(self) -> list[Path]:
        """All files of the checkpoint, in folders too."""
        found = [f for e in self.entries() for f in ([e] if e.is_file() else sorted(e.rglob("*")))]
        return [f for f in found if f.is_file() and not f.is_symlink()]

    def remove(self) -> None:
        for entry in self.entries():
            shutil.rmtree(entry, ignore_errors=True) if entry.is_dir() else entry.unlink(missing_ok=True)

    def copy(self, to: Place) -> None:
        """The same checkpoint at another place."""
        for entry in self.entries():
            target = entry.with_name(entry.name.replace(self.word, to.word).replace("step-1900", "step-3"))
            if entry.is_dir():
                shutil.copytree(entry, target, symlinks=True)
            else:
                shutil.copy2(entry, target)


@dataclass
class Interruptible:
    """One run under test: the number of its object, what it was built with, and the calls so far."""

    number: int
    given: tuple[Any, ...]
    calls: list[Result] = field(default_factory=list)


class Interrupted(ParameterSubject):
    """A class `(path: str, seed: int, width: int)` with `train(steps)`, `save()`, `load()` and `weights()`.

    Runs of one seed are alike. `width` is a size of its model; `weights()` gives all trained numbers in one row. Only
    `save()` writes. An epoch should be a few steps long, so that it is broken off in the middle.
    """

    _of_violations: tuple[Place, ...] = ()

    @contextlib.contextmanager
    def places(self, number: int = 1) -> Iterator[tuple[Place, ...]]:
        """So many places for checkpoints, which are gone afterwards."""
        found = tuple(Place(f"attention-core-{os.getpid()}-{next(_numbers)}.") for _ in range(number))
        try:
            yield found
        except Violation:
            self._of_violations += found  # the report makes its calls again
            raise
        finally:
            for place in found:
                place.remove()

    def close(self) -> None:
        """Remove what calls of counterexamples wrote when they were made again."""
        super().close()
        for place in self._of_violations:
            place.remove()

    def build(self, case: ParameterCase, place: Place | str, *, wider: int = 0) -> Interruptible:
        """A new run; it is built with its first call."""
        path = place if isinstance(place, str) else place.path
        return Interruptible(self.fresh_instance(), (path, case.seed % 1000, case["width"] + wider))

    def build_request(self, run: Interruptible, method: str, *args: Any) -> Request:
        """The request of one call."""
        return self.request(*args, method_=method, instance_=(run.number, run.given), graph_=method == "train")

    def raw(self, run: Interruptible, method: str, *args: Any) -> tuple[Request, Response]:
        """One call, whatever came of it."""
        request = self.build_request(run, method, *args)
        self.calls += 1
        response = self.runner.run(request)
        self.lost += LOST.get(response.status, 0)
        return request, response

    def do(self, run: Interruptible, method: str, *args: Any, before: list[Result] | None = None) -> None:
        """One call whose result is its own affair; raises where it fails."""
        request, response = self.raw(run, method, *args)
        if not came_back(response):
            with after([*(before or []), *run.calls]):
                raise_for(response, request, f"{method}({', '.join(map(str, args))})")
        run.calls.append(Result(np.zeros(0), request))

    def weights(self, run: Interruptible) -> Result:
        """All trained numbers of a run."""
        with after(run.calls):
            result = self.result(self.build_request(run, "weights"))
        if result.values.ndim != 1 or not result.values.size:
            message = f"weights(): got shape {result.values.shape}, but should be all trained numbers in one row"
            raise Violation(message, Evidence((Shown(result.request),), kind="crash"))
        return result

    def plain(self, case: ParameterCase) -> None:
        """A run that is trained, saved and gone on with, and its numbers."""
        with self.places() as (place,):
            saved_run(self, case, place)
            other = self.build(case, place)
            self.do(other, "load")
            self.do(other, "train", case["b"])
            self.weights(other)

    def must_refuse(self, run: Interruptible, method: str, why: str) -> None:
        """Raise unless the call is declined in a clear line."""
        request, response = self.raw(run, method)
        failure = response.failure
        evidence = Evidence((Shown(request),), kind="must_raise", before=tuple(Shown(r.request) for r in run.calls))
        if response.status in ("died", "hung"):
            check_response(response, request)
        if failure is None or came_back(response):
            raise Violation(f"{method}() of {why}: got no error, but should raise", evidence)
        line = failure.message.strip().splitlines()[0] if failure.message.strip() else ""
        silent = not line and "EOFError" not in failure.types  # its name says it all
        if any(name in failure.types for name in UNCLEAR) or silent or len(line) > LONGEST:
            got = f"{failure.types[0]}: {line[:80]}"
            crash = Evidence(evidence.calls, kind="crash", before=evidence.before)
            raise Violation(f"{method}() of {why}: got {got!r}, but should say in one line what is wrong", crash)

    @property
    def process(self) -> int:
        """The number of the worker's process; raises NotApplicable where the target runs in this one."""
        self.runner.describe()  # starts one, where the last has ended
        process = getattr(self.runner, "process", None)
        if not self.runner.isolated or process is None:
            raise NotApplicable("the target runs in this process, which cannot be killed or started anew")
        return int(process.pid)

    def save_on_a_full_disk(self, run: Interruptible, limit: int) -> Response:
        """`save()` where no file can grow beyond a limit, as on a full disk."""
        try:
            import resource

            own = os.getpid()
            pid = self.process if self.runner.isolated else own
            of_others: Any = getattr(resource, "prlimit", None)
            if pid != own and of_others is None:
                raise NotApplicable("the size of another process's files cannot be bounded on this system")

            def bound(*limits: tuple[int, int]) -> Any:
                if of_others is not None:
                    return of_others(pid, resource.RLIMIT_FSIZE, *limits)
                change = resource.setrlimit if limits else resource.getrlimit
                return change(resource.RLIMIT_FSIZE, *limits)

            before = bound()
            bound((limit, before[1]))
            try:
                return self.raw(run, "save")[1]
            finally:
                with contextlib.suppress(ProcessLookupError):
                    bound(before)
        except ImportError:
            raise NotApplicable("this system has no bounds on the sizes of files") from None

    def save_and_kill(self, run: Interruptible, place: Place) -> None:
        """`save()`, and SIGKILL as soon as anything at the checkpoint's place has changed."""
        runner: Any = self.runner
        pid, request = self.process, self.build_request(run, "save")
        answers = runner.process.read

        def look() -> list[tuple[str, int, int]]:
            found = []
            for file in place.entries():
                with contextlib.suppress(OSError):
                    stat = file.stat()
                    found.append((file.name, stat.st_size, stat.st_mtime_ns))
            return found

        before = look()

        def kill() -> None:
            while look() == before and not select.select([answers], [], [], 0)[0]:
                continue
            os.killpg(pid, signal.SIGKILL)

        runner.run(request, kill)
        runner.close()  # also where it had answered first


def came_back(response: Response) -> bool:
    """Whether a call returned, with an array or with anything else."""
    return response.status == "ok" or (response.failure is not None and "WrongReturn" in response.failure.types)


def raise_for(response: Response, request: Request, call: str) -> None:
    """A violation that says which call failed, and how."""
    crash = Evidence((Shown(request),), kind="crash")
    if response.failure is None:
        check_response(response, request)
        return
    line = (response.failure.message.strip().splitlines() or [""])[0]
    raise Violation(f"{call} raised {response.failure.types[0]}: {line[:200]}", crash)


class Opened:
    """What a pickle may hold: reading it makes a folder."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __reduce__(self) -> Any:
        return os.mkdir, (self.folder,)


def pickles(folder: str) -> dict[str, bytes]:
    """Files that make a folder when they are unpickled: a plain pickle, and one in the form of torch.save."""
    plain, packed = pickle.dumps(Opened(folder), protocol=2), BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as file:
        file.writestr("archive/data.pkl", pickle.dumps(Opened(folder), protocol=2))
        file.writestr("archive/byteorder", sys.byteorder)
        file.writestr("archive/version", "3\n")
    return {"a pickle": plain, "a pickle in a zip file": packed.getvalue()}


def different(got: NDArray, want: NDArray) -> NDArray:
    """Where two rows differ in any bit."""
    off: NDArray = (got != want) | (np.signbit(got) != np.signbit(want))
    return off


def require_bits(got: Result, want: NDArray, what: str, before: list[Result]) -> None:
    """Raise unless two rows of weights are the same bits; `before` are the calls that led here."""
    if got.values.shape != want.shape:
        flaw = f"{what}: got {got.values.size} weights, but should be {want.size}"
        raise Violation(flaw, Evidence((Shown(got.request),), kind="crash", before=as_evidence(before)))
    off = different(got.values, want)
    if off.any():
        place = int(off.argmax())
        g, w = float(got.values[place]), float(want[place])
        message = f"{what}: got {g!r} at [{place}], but should be {w!r} ({int(off.sum())} of {off.size} differ)"
        raise Violation(message, Evidence((got.show((place,)),), g, w, None, before=as_evidence(before)))


def as_evidence(calls: list[Result]) -> tuple[Shown, ...]:
    """Calls as evidence."""
    return tuple(Shown(result.request) for result in calls)


def saved_run(subject: Interrupted, case: ParameterCase, place: Place) -> tuple[Interruptible, NDArray, NDArray]:
    """A run that was saved after `a` steps and went on for `b`; its weights then, and at the end."""
    run = subject.build(case, place)
    subject.do(run, "train", case["a"])
    then = subject.weights(run).values
    subject.do(run, "save")
    subject.do(run, "train", case["b"])
    return run, then, subject.weights(run).values
