"""How the suite reaches the code under test: in a worker process of its own, or in this process.

Both runners take a `Request` and give a `Response`. A worker that dies or hangs is a response too; the next request
starts a fresh one.
"""

from __future__ import annotations

import contextlib
import re
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from attention_core.conformance.worker import wire
from attention_core.conformance.worker.exchange import Array, Failure, Request, Response, Value
from attention_core.declaration.implementation import TargetError, Unavailable
from attention_core.worker.environment import hide_initial_environment, worker_environment
from attention_core.worker.frames import Closed, FrameError, TimedOut
from attention_core.worker.interpreters import interpreter_environment
from attention_core.worker.process import WorkerProcess, memory_limit
from attention_core.worker.processes import COMPILING, Patience, family

START_TIMEOUT = 180.0
FLOOD = 8 << 20
"""Bytes printed during one call, from which on a call that does not end is called a flood."""
STATUSES = ("ok", "raised", "died", "hung")


class Runner(Protocol):
    """Runs requests against one target."""

    isolated: bool

    @property
    def gave_arrays(self) -> bool: ...
    def describe(self) -> dict[str, Any]: ...
    def run(self, request: Request, meanwhile: Callable[[], object] | None = None) -> Response: ...
    def with_array(self, array: str) -> Runner: ...
    def close(self) -> None: ...


class Noting:
    """Keeps the first request that changed each setting of its process, and the setting before and after.

    It also keeps whether any call gave arrays.
    """

    def __init__(self) -> None:
        self.changes: dict[str, tuple[Request, str, str]] = {}
        self.gave_arrays = False

    def note(self, request: Request, response: Response) -> Response:
        """The response, its changes kept."""
        self.gave_arrays = self.gave_arrays or (response.status == "ok" and bool(response.outputs))
        for what, before, after in response.changed:
            self.changes.setdefault(what, (request, before, after))
        return response


class LocalRunner(Noting):
    """Calls an object in this process: no isolation, a crash takes the caller along."""

    isolated = False

    def __init__(
        self, target: Any, *, factory: bool, array: str, device: str, x64: bool = False,
        convention: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        from attention_core.conformance.worker.executor import Executor

        super().__init__()
        self.executor = Executor(target, factory=factory, array=array, device=device, x64=x64, convention=convention)

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


def form_of(request: Request) -> int:
    """A number for the form of a call: equal for calls for which a compiler would use the same program."""
    named = {str(i): a for i, a in enumerate(request.args)} | dict(request.kwargs)
    shapes = [(n, a.dtype, a.shape) if isinstance(a, Array) else (n, repr(a)) for n, a in named.items()]
    return hash((tuple(shapes), request.method, request.mode, request.wrt, request.second is None, request.of))


def is_leak(answer: Response) -> bool:
    """Whether a call met a value that a function of JAX kept from the trace of an earlier one."""
    return answer.failure is not None and "UnexpectedTracerError" in answer.failure.types


LASTING = re.compile(
    "CUDA error: (?:misaligned address|an illegal|device-side assert|unspecified launch failure|invalid program "
    "counter|uncorrectable|operation not supported on global|invalid address space|the launch timed out)"
)
"""In the message of an exception: CUDA's errors after which every call of the process fails."""


def lost_device(answer: Response) -> str:
    """The message of a call that left its process without a device, or ""."""
    if answer.failure is None or not LASTING.search(answer.failure.message):
        return ""
    return answer.failure.message.splitlines()[0]


class WorkerRunner(Noting):
    """A spawned process that imports the target; sees a bare environment and no expected value."""

    isolated = True

    def __init__(
        self, target: str, *, factory: bool, array: str, device: str, timeout: float = 60.0, memory: int | None = None,
        x64: bool = False, spare: bool = True, runtime: str = "auto", compiles: bool = False,
        convention: Mapping[str, Any] | None = None,
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
            "runtime": runtime,
            "compiles": compiles,
            "convention": convention,
        }
        self.timeout = timeout
        self.has_spare = spare and sys.platform == "linux" and device == "cpu" and array != "jax"
        self.spare: tuple[int, int] | None = None  # the ends of its pipes, to read from and to write to
        self.process: WorkerProcess | None = None
        self.description: dict[str, Any] = {}
        self.ready = False  # whether the running worker has reported what it loaded
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
        hide_initial_environment()
        options = {**self.options, "main": threading.current_thread() is threading.main_thread()}
        named = [self.options[name] for name in ("target", "device", "runtime")]
        environment = worker_environment() | interpreter_environment(*named)
        self.process = WorkerProcess(
            "attention_core.conformance.worker.entry", environment, pipes=2 if self.has_spare else 1
        )
        self.spare = self.process.pipes[1] if self.has_spare else None
        with contextlib.suppress(Closed):  # then nothing can be received either, which says how it died
            wire.send(self.process.write, options)

    def _greet(self) -> None:
        assert self.process is not None
        try:
            greeting = self._receive(Patience(self.process.pid, max(START_TIMEOUT, self.timeout)))
        except TimedOut:
            self.close()
            raise TargetError(f"{self.options['target']}: importing it took over {START_TIMEOUT:.0f} s") from None
        except FrameError:
            how = self.process.describe_end()
            self.close()
            raise TargetError(f"{self.options['target']}: the process died while importing it ({how})") from None
        if greeting["status"] != "ready":
            self.close()
            if greeting["status"] == "unavailable":
                raise Unavailable(greeting["message"])
            error = TargetError(greeting["message"])
            error.add_note(greeting.get("traceback", ""))
            raise error
        self.description, self.ready = greeting, True

    def run(self, request: Request, meanwhile: Callable[[], object] | None = None) -> Response:
        """One request; `meanwhile` is done in this process while the worker is busy with it."""
        self.describe()
        assert self.process is not None
        tail, form = self.process.tail, form_of(request)
        before, compiles = tail.total, form not in self.forms and bool(self.description.get("compiles"))
        patience = Patience(self.process.pid, self.timeout * (COMPILING if compiles else 1))
        try:
            wire.send(self.process.write, request)
            try:
                if meanwhile is not None:
                    meanwhile()
            finally:  # an answer left unread would be taken for the next one
                answer = self._receive(patience)
        except TimedOut:
            printed = tail.total - before
            self.close()
            flood = f", in which it printed {printed >> 20} MB" if printed >= FLOOD else ""
            return Response("hung", message=f"no answer {patience.words()}{flood}")
        except (Closed, OSError):
            how = self.process.describe_end()
            self.close()
            return Response("died", message=f"the process {how}")
        except FrameError:
            answer = None
        if not is_response(answer):
            self.close()
            return Response("died", message="the process sent something that is not a response")
        if is_leak(answer) and self.options["compiles"]:  # what a trace left behind is of no use to another
            self.options["compiles"] = False
            self.close()
            return self.run(request, meanwhile)
        self.forms.add(form)
        if reason := lost_device(answer):  # the next call gets a process and a device that work
            self.close()
            return Response("died", message=f"the process lost its device ({reason})")
        return self.note(request, answer)

    def trial(self, requests: Sequence[Request]) -> list[Response] | None:
        """The responses to some calls, made in a fork of the worker that leaves it as it is; None if that is lost."""
        self.describe()
        assert self.process is not None
        try:
            wire.send(self.process.write, {"trial": list(requests)})
            answer = self._receive(Patience(self.process.pid, self.timeout))
        except (FrameError, OSError):
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
            answer = self._receive(Patience(self.process.pid, self.timeout), read)
        except (FrameError, OSError):
            self._leave_spare()
            return True, None
        return True, answer if isinstance(answer, list) and all(map(is_response, answer)) else None

    def _leave_spare(self) -> None:
        """End the spare and what it started; the worker goes on."""
        if self.spare is None or self.process is None:
            return
        self.process.close_pipe(self.spare)
        self.spare = None
        for process in family(self.process.pid)[1:]:
            if process.pid == self.description.get("spare"):
                for each in family(process.pid):
                    with contextlib.suppress(Exception):
                        each.kill()

    def _receive(self, patience: Patience, read: int | None = None) -> Any:
        """What the worker answers in its time."""
        assert self.process is not None
        return wire.receive(self.process.read if read is None else read, self.process.watch(patience.is_expired))

    def close(self) -> None:
        """End the worker and everything it started."""
        if self.process is None:
            return
        self.process.end()
        self.process, self.ready, self.spare = None, False, None
