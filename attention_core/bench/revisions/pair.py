"""A round: one process for each revision, which run their samples in turns under one parent.

The parent asks one of them for a sample and waits for it while the other sleeps, so that both see the same machine:
blocks A B B A as `timing.sampling` has them, with a clock that runs the functions in other processes.
"""

from __future__ import annotations

import os
import select
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from attention_core.bench.revisions.rounds import RoundRule, RoundTimes
from attention_core.bench.timing.clocks import Clock
from attention_core.bench.timing.sampling import sample
from attention_core.bench.worker.client import NOTE, START_TIMEOUT, module_path
from attention_core.declaration.implementation import TargetError
from attention_core.worker.environment import hide_initial_environment, worker_environment
from attention_core.worker.frames import Closed, FrameError, TimedOut, after, receive, send
from attention_core.worker.process import WorkerProcess, describe_status, memory_limit
from attention_core.worker.processes import processor_time

SIDES = ("base", "head")
WAITS = 0.1
"""Of the samples, the share in which a kernel may give up its core: a page that has to be read, now and then."""
REPLACED = "a kernel has replaced its clock"


class Unjudged(Exception):
    """A revision that cannot be timed; `side` is 0 for the base and 1 for the head, the text says why."""

    def __init__(self, side: int, message: str) -> None:
        super().__init__(message)
        self.side = side


class Waited(Exception):
    """A kernel that waits in some calls, so that its processor time is not its time."""


@dataclass
class Judged:
    """What a revision's process reports of its kernel: errors by quantity, and checksums of what it gave."""

    errors: dict[str, Any] = field(default_factory=dict)
    gave: list[int] = field(default_factory=list)


class Pair:
    """The process from which both processes of each round are forked.

    Args: threads, of torch; timeout, seconds for one step; device.
    """

    def __init__(self, threads: int = 1, timeout: float = 120.0, device: str = "cpu") -> None:
        self.threads, self.timeout, self.device, self.memory = threads, timeout, device, memory_limit(device)
        hide_initial_environment()
        environment = worker_environment(threads)
        environment |= {"PYTHONPATH": module_path(environment.get("PYTHONPATH", ""))}
        with ExitStack() as stack:
            self.notes = [stack.enter_context(tempfile.NamedTemporaryFile()) for _ in SIDES]
            for note in self.notes:
                note.write(bytes(NOTE))
                note.flush()
            self.process = WorkerProcess("attention_core.bench.worker.pair_entry", environment, pipes=3, flags=("-P",))
            stack.callback(self.process.end)
            try:
                receive(self.process.read, self.process.watch(after(START_TIMEOUT)))
            except FrameError:
                words = self.process.tail.words()
                raise TargetError(f"the process that times kernels did not start{': ' * bool(words)}{words}") from None
            self.stack = stack.pop_all()

    def __enter__(self) -> Pair:
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def start_round(self, jobs: Sequence[Mapping[str, Any]], cores: Sequence[int]) -> tuple[Seat, Seat]:
        """Fork the processes of a round, each of which begins to judge its kernel."""
        common = {"kind": "turns", "threads": self.threads, "memory": self.memory, "device": self.device}
        whole = [
            {**common, "note": note.name, "cores": list(cores), **job}
            for note, job in zip(self.notes, jobs, strict=True)
        ]
        send(self.process.write, {"jobs": whole})
        try:
            started = receive(self.process.read, self.process.watch(after(self.timeout)))["processes"]
        except FrameError:
            raise Unjudged(0, "the worker has ended") from None
        width = len(cores) or os.cpu_count() or 1
        self.ends = Ends(self.process)
        first, second = (Seat(side, self.ends, self.timeout, started[side], width) for side in (0, 1))
        return first, second

    def end_round(self) -> None:
        """Wait until both processes have ended."""
        self.ends.wait(after(self.timeout))


class Ends:
    """How the processes of a round have ended, as far as the process that they come from reports it."""

    def __init__(self, process: WorkerProcess) -> None:
        self.process, self.known = process, dict[int, int]()

    def look(self) -> None:
        """Read what there is to read. Raises: FrameError: the worker is gone."""
        while select.select([self.process.read], [], [], 0)[0]:
            self._read(after(1.0))

    def wait(self, expired: Callable[[], bool]) -> None:
        """Wait for both. Raises: FrameError."""
        while len(self.known) < len(SIDES):
            self._read(self.process.watch(expired))

    def _read(self, expired: Callable[[], bool]) -> None:
        message = receive(self.process.read, expired)
        self.known[int(message["seat"])] = int(message["status"])


class Seat:
    """One revision's process in a round, as the parent sees it; also the function that `sample` runs there.

    Args: side, 0 or 1; ends, of the processes of the round; timeout, seconds for one step; pid, its number; width, the
        cores that it may use.
    """

    def __init__(self, side: int, ends: Ends, timeout: float, pid: int, width: int) -> None:
        self.side, self.ends, self.timeout, self.pid, self.width = side, ends, timeout, pid, width
        self.read, self.write = ends.process.pipes[1 + side]
        self.judged, self.clock = Judged(), "wall"
        self.resolutions: dict[str, float] = {}
        self.computes = False
        self.computed = self.here = self.there = 0.0
        self.samples = 0

    def get_ready(self) -> None:
        """Wait until the kernel is judged. Raises: Unjudged."""
        message = self.wait_for("ready")
        self.resolutions, self.computes = message["resolutions"], message["computes"]
        self.computed = processor_time(self.pid)[0]

    def __call__(self) -> None:
        """Only its process can run it."""
        raise NotImplementedError

    def wait_for(self, event: str) -> dict[str, Any]:
        """The next message of a kind; what comes about the kernel before it is kept.

        Raises: Unjudged: the kernel is wrong, or raised, or its process died or hung.
        """
        while True:
            message = self._receive()
            if message["event"] == event:
                return message
            if message["event"] == "checked":
                self._keep(message)
            elif message["event"] in ("failed_kernel", "refused", "failed"):
                raise Unjudged(self.side, str(message["message"]))
            elif message["event"] == "done":
                raise Unjudged(self.side, "its process ended early")

    def _keep(self, message: Mapping[str, Any]) -> None:
        if message["errors"]:
            self.judged = Judged(message["errors"], message.get("gave", []))
        wrong = [name for name, error in message["errors"].items() if error["refuted"]]
        if wrong:
            where = message.get("where", "on these inputs")
            raise Unjudged(self.side, f"it is wrong: {where}: the error of {wrong[0]} is beyond its bound")

    def _receive(self) -> dict[str, Any]:
        expired = after(self.timeout)

        def is_over() -> bool:
            self.ends.look()
            if self.side in self.ends.known and not select.select([self.read], [], [], 0)[0]:
                raise Closed("its process has ended")
            return expired()

        try:
            return receive(self.read, self.ends.process.watch(is_over))
        except TimedOut:
            raise Unjudged(self.side, f"no answer within {self.timeout:g} s") from None
        except (FrameError, OSError):
            status = self.ends.known.get(self.side)
            how = "ended, and the worker with it" if status is None else describe_status(status)
            raise Unjudged(self.side, f"its process {how}") from None

    def take_sample(self, count: int) -> float:
        """Seconds that `count` calls take. Raises: Unjudged."""
        start = monotonic()
        send(self.write, {"do": "sample", "count": count, "clock": self.clock})
        self.samples += 1
        message = self.wait_for("sample")
        self.here += monotonic() - start
        self.there += message["whole"]
        return float(message["seconds"])

    def finish(self) -> None:
        """Let the kernel be looked at once more.

        Raises: Unjudged, also where its clock was not this process's. Waited: it waits, and processor time was taken.
        """
        computed = processor_time(self.pid)[0] - self.computed
        send(self.write, {"do": "finish"})
        waits = self.wait_for("finished")["waits"]
        self.wait_for("done")  # or the next round would read it
        message = doubt(self.here, self.there, computed / self.width)
        if message:
            raise Unjudged(self.side, message)
        if self.clock == "processor" and waits > WAITS * self.samples:
            raise Waited


def doubt(here: float, there: float, computed: float) -> str:
    """Why the seconds that a process says its samples took cannot be right, in a line; "" where they can.

    Between two messages a busy machine lets a process wait, so that `here` may be much longer than what was sampled.
    But no process samples for longer than its parent waits, or computes for longer than it samples.

    Args: here, seconds that the parent waited; there, what the process says; computed, processor time on each core.

    >>> doubt(9.0, 1.0, 1.0), doubt(9.0, 1.0, 4.0)
    ('', 'it says that its samples took 1 s, and it computed for 4 s: a kernel has replaced its clock')
    """
    slack = 1.0 + 0.1 * there
    if computed > there + slack:
        return f"it says that its samples took {there:.3g} s, and it computed for {computed:.3g} s: {REPLACED}"
    if there > here + slack:
        return f"it says that its samples took {there:.3g} s, and they took {here:.3g} s: {REPLACED}"
    return ""


class TurnClock:
    """A clock whose functions are `Seat`s."""

    def __init__(self, resolution: float) -> None:
        self.resolution = resolution

    def time(self, function: Callable[[], Any], count: int) -> float:
        """Seconds that `count` calls take in the other process."""
        assert isinstance(function, Seat)
        return function.take_sample(count)


def measure_round(functions: Sequence[Callable[[], Any]], clock: Clock, rule: RoundRule, number: int) -> RoundTimes:
    """One round: base and head in blocks A B B A; the one that begins changes from round to round."""
    sides = SIDES if number % 2 == 0 else SIDES[::-1]
    named = {side: functions[SIDES.index(side)] for side in sides}
    found = sample(named, clock, rule.of_a_round, baseline="base", caught=NotCaught)
    spent = sum(float(times.sum()) * found.inner[side] for side, times in found.times.items())
    return RoundTimes(found.times["base"], found.times["head"], spent)


class NotCaught(Exception):
    """Raised by nothing: what happens in a round ends it."""


def cores_of_round(number: int, threads: int, device: str) -> list[int]:
    """The cores that both revisions run on: the same for both, others in the next round.

    Returns: [] where they cannot be chosen, and on other devices.
    """
    if device != "cpu" or not hasattr(os, "sched_setaffinity"):
        return []
    allowed = sorted(os.sched_getaffinity(0))
    if threads > len(allowed):
        return []
    return [allowed[(number * threads + k) % len(allowed)] for k in range(threads)]


def run_round(
    pair: Pair, jobs: Sequence[dict[str, Any]], rule: RoundRule, number: int, judged: list[Judged], clock: str
) -> RoundTimes:
    """One round in fresh processes.

    Args: judged, the report of the first round, which spares the others the truth; clock, "processor" or "wall".
    Raises: Unjudged. Waited: the clock is "processor", and one of the two waits.
    """
    known = [{**job, "gave": one.gave} for job, one in zip(jobs, judged, strict=True)] if judged else list(jobs)
    seats = pair.start_round(known, cores_of_round(number, pair.threads, pair.device))
    for seat in seats:
        seat.get_ready()
    if not judged:
        judged[:] = [seat.judged for seat in seats]
    waits = clock == "processor" and not all(seat.computes for seat in seats)
    for seat in seats:
        seat.clock = "wall" if waits else clock
    resolution = max(seat.resolutions[seat.clock] for seat in seats)
    times = None if waits else measure_round(seats, TurnClock(resolution), rule, number)
    for seat in seats:
        seat.finish()
    pair.end_round()
    if times is None:
        raise Waited
    return times
