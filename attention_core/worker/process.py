"""A worker process as its starter holds it: pipes for frames, the end of what it prints, how it ended."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import IO

from attention_core.worker.frames import Closed, widen
from attention_core.worker.processes import MARK, end_all

LAST_WORDS = 4000
"""Bytes kept of what a target printed."""
MEMORY_SHARE = 0.75
"""Of this machine's memory, what a worker on the processor may fill before its allocations fail."""


def memory_limit(device: str) -> int | None:
    """Bytes a worker may fill: a share of the memory, on processors (a CUDA context maps far more than it fills).

    None under an address sanitizer as well, whose shadow is larger than any memory.
    """
    if device != "cpu" or "asan" in os.environ.get("LD_PRELOAD", ""):
        return None
    try:
        return int(MEMORY_SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (ValueError, OSError):
        return None


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
        """The last line, or a sanitizer's summary, once the process has ended (or a second later)."""
        self.thread.join(1)
        lines = self.kept.decode(errors="replace").strip().splitlines() or [""]
        return next((line for line in lines if line.startswith("SUMMARY: ")), lines[-1])[:200]

    def close(self) -> None:
        """Stop reading."""
        self.thread.join(1)
        self.stream.close()


class WorkerProcess:
    """A Python process in a session of its own that runs one of our modules.

    Its arguments are the ends of its pipes: one to read from and one to write to, for each of `pipes` pairs. What it
    prints goes to a pipe of its own, of which the end is kept, and cannot disturb the exchange.

    Args:
        module: name of the module.
        environment: of the process; a mark is added, by which the processes that it starts are found again.
        pipes: pairs of pipes; the first are `read` and `write` here.
        flags: options of the interpreter.
    """

    def __init__(
        self, module: str, environment: Mapping[str, str], *, pipes: int = 1, flags: Sequence[str] = ()
    ) -> None:
        theirs, self.pipes = list[int](), list[tuple[int, int]]()
        for _ in range(pipes):
            (child_reads, write), (read, child_writes) = os.pipe(), os.pipe()
            theirs += [child_reads, child_writes]
            self.pipes.append((read, write))
        self.read, self.write = self.pipes[0]
        widen(self.write)
        widen(theirs[1])
        self.mark = uuid.uuid4().hex
        try:
            self.popen = subprocess.Popen(
                [sys.executable, *flags, "-m", module, *map(str, theirs)],
                pass_fds=theirs, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                env={**environment, MARK: self.mark}, start_new_session=True,
            )  # fmt: skip
        except BaseException:
            for pipe in list(self.pipes):
                self.close_pipe(pipe)
            raise
        finally:
            for end in theirs:
                os.close(end)
        assert self.popen.stdout is not None
        self.tail = Tail(self.popen.stdout)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self.popen.pid

    def watch(self, expired: Callable[[], bool]) -> Callable[[], bool]:
        """A limit for `receive` that also notices the end of the process.

        A child of a dead worker may hold its end of the pipe open.
        """

        def is_over() -> bool:
            if self.popen.poll() is not None and not select.select([self.read], [], [], 0)[0]:
                raise Closed("the other side is gone")
            return expired()

        return is_over

    def returncode(self, patience: float = 5) -> int | None:
        """The status with which the process ended; None where it still runs after some seconds."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.popen.wait(patience)
        return self.popen.returncode

    def describe_end(self) -> str:
        """How the process ended, in words, with the last line that it printed."""
        code = self.returncode()
        how = "closed its end of the exchange" if code is None else describe_status(code)
        words = self.tail.words()
        return f"{how}; it last printed: {words}" if words else how

    def close_pipe(self, pipe: tuple[int, int]) -> None:
        """Close our ends of a pair of pipes."""
        for descriptor in pipe:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self.pipes.remove(pipe)

    def end(self) -> None:
        """End the process and everything it started."""
        end_all(self.pid, self.mark)
        self.popen.wait()
        for pipe in list(self.pipes):
            self.close_pipe(pipe)
        self.tail.close()


def describe_status(status: int) -> str:
    """The status of a process that has ended, in words.

    Example:
        >>> describe_status(-9), describe_status(1)
        ('was ended by signal SIGKILL', 'ended with status 1')
    """
    return f"was ended by signal {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
