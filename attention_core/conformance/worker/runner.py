"""How the suite reaches the code under test: in a worker process of its own, or in this process.

Both runners take a `Request` and give a `Response`. A worker that dies or hangs is a response too; the next request
starts a fresh one.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Sequence
from typing import IO, Any, Protocol

from attention_core.conformance.worker import wire
from attention_core.conformance.worker.exchange import Array, Failure, Request, Response, Value
from attention_core.declaration.implementation import TargetError, Unavailable
from attention_core.worker.environment import hide_initial_environment, worker_environment
from attention_core.worker.processes import COMPILING, MARK, Patience, end_all, family

START_TIMEOUT = 180.0
LAST_WORDS = 2000
"""Bytes kept of what a target printed."""
FLOOD = 8 << 20
"""Bytes printed during one call, from which on a call that does not end is called a flood."""
MEMORY_SHARE = 0.75
"""Of this machine's memory, what a worker on the processor may fill before its allocations fail."""
STATUSES = ("ok", "raised", "died", "hung")


class Runner(Protocol):
    """Runs requests against one target."""

    isolated: bool

    def describe(self) -> dict[str, Any]: ...
    def run(self, request: Request, meanwhile: Callable[[], object] | None = None) -> Response: ...
    def with_array(self, array: str) -> Runner: ...
    def close(self) -> None: ...


class Noting:
    """Keeps the first request that changed each setting of its process, and the setting before and after."""

    def __init__(self) -> None:
        self.changes: dict[str, tuple[Request, str, str]] = {}

    def note(self, request: Request, response: Response) -> Response:
        """The response, its changes kept."""
        for what, before, after in response.changed:
            self.changes.setdefault(what, (request, before, after))
        return response


class LocalRunner(Noting):
    """Calls an object in this process: no isolation, a crash takes the caller along."""

    isolated = False

    def __init__(self, target: Any, *, factory: bool, array: str, device: str, x64: bool = False) -> None:
        from attention_core.conformance.worker.executor import Executor

        super().__init__()
        self.executor = Executor(target, factory=factory, array=array, device=device, x64=x64)

    def describe(self) -> dict[str, Any]:
        return self.executor.describe()

    def run(self, request: Request, meanwhile: Callable[[], object] | None = None) -> Response:
        return self.note(request, self.executor.run(request))

    def with_array(self, array: str) -> LocalRunner:
        """A runner of the same target with arrays of another library."""
        executor = self.executor
        return LocalRunner(executor.target, factory=False, array=array, device=executor.device)

    def close(self) -> None:
        self.executor.instances.clear()


def is_response(answer: Any) -> bool:
    """Whether what came from a worker, where the target can write too, has the form of a response."""
    if not isinstance(answer, Response) or answer.status not in STATUSES:
        return False
    if answer.status == "raised" and not isinstance(answer.failure, Failure):
        return False
    outputs: Any = answer.outputs
    maps: list[Any] = [answer.gradients, answer.second, answer.parameters]
    if not isinstance(outputs, tuple) or not all(
        isinstance(m, dict) for m in (*maps, answer.generators, answer.described)
    ):
        return False
    changed: Any = answer.changed
    if not isinstance(changed, tuple) or not all(isinstance(c, tuple) and len(c) == 3 for c in changed):
        return False
    if not all(isinstance(word, str) for c in changed for word in c):
        return False
    values = [*outputs, *(v for m in maps for v in m.values() if v is not None)]
    return all(isinstance(v, Value) and getattr(v.values, "shape", None) == v.shape for v in values)


class Tail:
    """What a process printed last: reads as it comes and keeps the end, so that a flood fills neither pipe nor disk."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream, self.kept, self.total = stream, b"", 0
        self.thread = threading.Thread(target=self._drain, daemon=True)
        self.thread.start()

    def _drain(self) -> None:
        with contextlib.suppress(OSError, ValueError):  # closed under our hands
            while chunk := os.read(self.stream.fileno(), 1 << 16):
                self.kept = (self.kept + chunk)[-LAST_WORDS:]
                self.total += len(chunk)

    def words(self) -> str:
        """The last line, once the process has ended (or a second later)."""
        self.thread.join(1)
        lines = self.kept.decode(errors="replace").strip().splitlines()
        return lines[-1][:200] if lines else ""

    def close(self) -> None:
        self.thread.join(1)
        self.stream.close()


def memory_limit(device: str) -> int | None:
    """Bytes a worker may fill: a share of the memory, on processors (a CUDA context maps far more than it fills)."""
    if device != "cpu":
        return None
    try:
        return int(MEMORY_SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (ValueError, OSError):
        return None


def form_of(request: Request) -> int:
    """A number for the form of a call: equal for calls for which a compiler would use the same program."""
    named = {str(i): a for i, a in enumerate(request.args)} | dict(request.kwargs)
    shapes = [(n, a.dtype, a.shape) if isinstance(a, Array) else (n, repr(a)) for n, a in named.items()]
    return hash((tuple(shapes), request.method, request.mode, request.wrt, request.second is None, request.of))


class WorkerRunner(Noting):
    """A spawned process that imports the target; sees a bare environment and no expected value."""

    isolated = True

    def __init__(
        self, target: str, *, factory: bool, array: str, device: str, timeout: float = 60.0, memory: int | None = None,
        x64: bool = False, spare: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        memory = memory_limit(device) if memory is None else memory
        self.options: dict[str, Any] = {
            "target": target,
            "factory": factory,
            "array": array,
            "device": device,
            "memory": memory,
            "x64": x64,
        }
        self.timeout = timeout
        self.has_spare = spare and sys.platform == "linux" and device == "cpu" and array != "jax"
        self.spare: tuple[int, int] | None = None  # the ends of its pipes, to read from and to write to
        self.process: subprocess.Popen[bytes] | None = None
        self.tail: Tail | None = None
        self.description: dict[str, Any] = {}
        self.ready = False  # whether the worker that runs has told what it loaded
        self.mark = ""
        self.forms: set[int] = set()  # of the calls that were answered

    def with_array(self, array: str, *, spare: bool = True) -> WorkerRunner:
        """A runner of the same target, in another process, with arrays of another library."""
        return WorkerRunner(timeout=self.timeout, spare=spare, **{**self.options, "array": array})

    def describe(self) -> dict[str, Any]:
        """Start the worker (if need be) and return what it says of the target.

        Raises:
            TargetError: the target cannot be loaded. Unavailable: it cannot run on this machine.
        """
        self.start()
        if not self.ready:
            self._greet()
        return self.description

    def start(self) -> None:
        """Start the worker (if need be) without waiting until it has loaded the target."""
        if self.process is not None:
            return
        child_reads, self.write = os.pipe()
        self.read, child_writes = os.pipe()
        wire.widen(self.write)
        wire.widen(child_writes)
        hide_initial_environment()
        self.mark = uuid.uuid4().hex
        options = {**self.options, "main": threading.current_thread() is threading.main_thread()}
        ends = [child_reads, child_writes]
        if self.has_spare:
            (spare_reads, own_write), (own_read, spare_writes) = os.pipe(), os.pipe()
            ends += [spare_reads, spare_writes]
            self.spare = own_read, own_write
        self.process = subprocess.Popen(
            [sys.executable, "-m", "attention_core.conformance.worker.entry", *map(str, ends)],
            pass_fds=ends, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, env=worker_environment() | {MARK: self.mark}, start_new_session=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.tail = Tail(self.process.stdout)
        for end in ends:
            os.close(end)
        with contextlib.suppress(wire.Closed):  # then nothing can be received either, which says how it died
            wire.send(self.write, options)

    def _greet(self) -> None:
        assert self.process is not None
        try:
            told = wire.receive(self.read, self._expired(Patience(self.process.pid, max(START_TIMEOUT, self.timeout))))
        except wire.TimedOut:
            self.close()
            raise TargetError(f"{self.options['target']}: importing it took over {START_TIMEOUT:.0f} s") from None
        except wire.WireError:
            how = self._how_it_died()
            self.close()
            raise TargetError(f"{self.options['target']}: the process died while importing it ({how})") from None
        if told["status"] != "ready":
            self.close()
            if told["status"] == "unavailable":
                raise Unavailable(told["message"])
            error = TargetError(told["message"])
            error.add_note(told.get("traceback", ""))
            raise error
        self.description, self.ready = told, True

    def run(self, request: Request, meanwhile: Callable[[], object] | None = None) -> Response:
        """One request; `meanwhile` is done in this process while the worker is busy with it."""
        self.describe()
        assert self.tail is not None
        before, form = self.tail.total, form_of(request)
        compiles = form not in self.forms and bool(self.description.get("compiles"))
        assert self.process is not None
        patience = Patience(self.process.pid, self.timeout * (COMPILING if compiles else 1))
        try:
            wire.send(self.write, request)
            try:
                if meanwhile is not None:
                    meanwhile()
            finally:  # an answer left unread would be taken for the next one
                answer = wire.receive(self.read, self._expired(patience))
        except wire.TimedOut:
            printed = self.tail.total - before
            self.close()
            flood = f", in which it printed {printed >> 20} MB" if printed >= FLOOD else ""
            return Response("hung", message=f"no answer {patience.words()}{flood}")
        except (wire.Closed, OSError):
            how = self._how_it_died()
            self.close()
            return Response("died", message=f"the process {how}")
        except wire.WireError:
            answer = None
        if not is_response(answer):
            self.close()
            return Response("died", message="the process sent something that is no response")
        self.forms.add(form)
        return self.note(request, answer)

    def trial(self, requests: Sequence[Request]) -> list[Response] | None:
        """The responses to some calls, made in a fork of the worker that leaves it as it is; None if that is lost."""
        self.describe()
        assert self.process is not None
        try:
            wire.send(self.write, {"trial": list(requests)})
            answer = wire.receive(self.read, self._expired(Patience(self.process.pid, self.timeout)))
        except (wire.WireError, OSError):
            self.close()
            return None
        return answer if isinstance(answer, list) and all(map(is_response, answer)) else None

    def spare_trial(self, requests: Sequence[Request]) -> tuple[bool, list[Response] | None]:
        """The same in the worker's spare, which has made no call: whether there is one, and the responses."""
        if self.spare is None or not self.ready or not self.description.get("spare"):
            return False, None
        assert self.process is not None
        read, write = self.spare
        try:
            wire.send(write, {"trial": list(requests)})
            answer = wire.receive(read, self._expired(Patience(self.process.pid, self.timeout)))
        except (wire.WireError, OSError):
            self._leave_spare()
            return True, None
        return True, answer if isinstance(answer, list) and all(map(is_response, answer)) else None

    def _leave_spare(self) -> None:
        """End the spare and what it started; the worker goes on."""
        if self.spare is None:
            return
        for descriptor in self.spare:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self.spare = None
        for process in family(self.process.pid if self.process else 0)[1:]:
            if process.pid == self.description.get("spare"):
                for each in family(process.pid):
                    with contextlib.suppress(Exception):
                        each.kill()

    def _expired(self, patience: Patience) -> Callable[[], bool]:
        """Whether to give up; a child of a dead worker may hold its end of the pipe open, so that is looked at, too."""

        def expired() -> bool:
            assert self.process is not None
            if self.process.poll() is not None and not select.select([self.read], [], [], 0)[0]:
                raise wire.Closed("the other side is gone")
            return patience.expired()

        return expired

    def _how_it_died(self) -> str:
        assert self.process is not None and self.tail is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        code = self.process.returncode
        how = f"ended with status {code}" if code is not None else "closed its end of the exchange"
        if code is not None and code < 0:
            how = f"was ended by signal {signal.Signals(-code).name}"
        said = self.tail.words()
        return f"{how}; it last printed: {said}" if said else how

    def close(self) -> None:
        """End the worker and everything it started."""
        if self.process is None:
            return
        end_all(self.process.pid, self.mark)
        self.process.wait()
        for descriptor in (self.read, self.write, *(self.spare or ())):
            with contextlib.suppress(OSError):
                os.close(descriptor)
        if self.tail is not None:
            self.tail.close()
        self.process, self.ready, self.spare = None, False, None
