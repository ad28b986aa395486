"""Starts the worker and sends it jobs: the only door between the benchmark and the code that it times.

A job that crashes, hangs or prints floods is an answer too: `Lost`, with the kernel that was running.
"""

from __future__ import annotations

import mmap
import os
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attention_core
from attention_core.declaration.implementation import TargetError, Unavailable
from attention_core.worker.environment import hide_initial_environment, worker_environment
from attention_core.worker.frames import FrameError, TimedOut, after, receive, send
from attention_core.worker.process import WorkerProcess, describe_status, memory_limit

START_TIMEOUT = 120.0
NOTE = 4096
"""Bytes of the note in which a job says what it is about to run; nothing is sent for it, so it costs no time."""


class Lost(Exception):
    """A job whose process died or hung; `running` is the kernel that it had noted, or ""."""

    def __init__(self, message: str, running: str) -> None:
        super().__init__(message)
        self.running = running


class Workers:
    """The worker process, started when first needed and again after a hang.

    Args: threads, of torch in the jobs; timeout, seconds without a message after which a job hangs; device.
    """

    def __init__(self, threads: int = 1, timeout: float = 120.0, device: str = "cpu") -> None:
        self.threads, self.timeout, self.memory = threads, timeout, memory_limit(device)
        self.process: WorkerProcess | None = None
        self.note = tempfile.NamedTemporaryFile(prefix="attention-core-")  # noqa: SIM115 (closed in `close`)
        self.note.write(bytes(NOTE))
        self.note.flush()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def job(self, kind: str, **values: Any) -> Iterator[dict[str, Any]]:
        """The messages of one job.

        Raises: Lost: its process died or hung. TargetError, Unavailable: it refused; the text says why.
        """
        if self.process is None:
            self._start()
        process = self.process
        assert process is not None
        self._write_note("")
        job = {"kind": kind, "threads": self.threads, "memory": self.memory, "note": self.note.name, **values}
        finished = done = False
        try:
            send(process.write, job)
            while True:
                message = self._receive(process, self.timeout)
                if message.get("event") == "ended":
                    break
                if message.get("event") == "done":
                    done = True
                    continue
                if message.get("event") in ("refused", "failed"):
                    self._receive(process, self.timeout)
                    finished = True
                    raise (TargetError if message["event"] == "refused" else Unavailable)(str(message["message"]))
                yield message
            finished = True
            if message["status"] != 0 or not done:  # a kernel may end its process with status 0, too
                raise Lost(f"its process {describe_status(int(message['status']))}", self._read_note())
        except TimedOut:
            raise Lost(f"no answer within {self.timeout:g} s", self._read_note()) from None
        except (FrameError, OSError):
            raise Lost("its process ended, and the worker with it", self._read_note()) from None
        finally:
            if not finished:  # also where the caller stops reading: what is left unread belongs to no reader
                self._stop()

    def _start(self) -> None:
        hide_initial_environment()
        environment = worker_environment(self.threads)
        environment |= {"PYTHONPATH": module_path(environment.get("PYTHONPATH", ""))}
        # -P: a file of the user's folder that is named like a module (glob.py) would be imported in its place;
        # kernels find their neighbours all the same, by `load_target`
        self.process = WorkerProcess("attention_core.bench.worker.entry", environment, flags=("-P",))
        try:
            self._receive(self.process, START_TIMEOUT)
        except FrameError:
            words = self.process.tail.words()
            self._stop()
            raise TargetError(f"the process that times kernels did not start{': ' * bool(words)}{words}") from None

    def _receive(self, process: WorkerProcess, timeout: float) -> dict[str, Any]:
        return receive(process.read, process.watch(after(timeout)))

    def _write_note(self, text: str) -> None:
        os.pwrite(self.note.fileno(), text.encode()[:NOTE].ljust(NOTE, b"\0"), 0)

    def _read_note(self) -> str:
        return os.pread(self.note.fileno(), NOTE, 0).partition(b"\0")[0].decode(errors="replace")

    def _stop(self) -> None:
        """End the worker and everything it started."""
        if self.process is None:
            return
        self.process.end()
        self.process = None

    def close(self) -> None:
        """End everything."""
        self._stop()
        self.note.close()


def module_path(given: str) -> str:
    """PYTHONPATH of a worker, which does not look into its own folder, where a checkout is that is not installed.

    An installed package is found anyway; its folder must not come before the standard library.
    """
    root = str(Path(attention_core.__file__).parents[1])
    installed = root in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
    return given if installed else os.pathsep.join(filter(None, (root, given)))


class Note:
    """The other end of the note: a job writes there what it is about to run, without a system call."""

    def __init__(self, path: str) -> None:
        with open(path, "r+b") as stream:
            self.map = mmap.mmap(stream.fileno(), NOTE)

    def write(self, text: str) -> None:
        """Replace the note."""
        data = text.encode()[: NOTE - 1] + b"\0"
        self.map[: len(data)] = data
