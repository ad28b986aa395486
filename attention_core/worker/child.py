"""What a worker process does for itself: bound its memory, and end with the process that started it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Sequence

PR_SET_PDEATHSIG = 1


def inherited_pipes(arguments: Sequence[str]) -> list[int]:
    """Return the pipes' ends that a worker is started with, which its own children do not inherit."""
    ends = [int(number) for number in arguments]
    for end in ends:
        os.set_inheritable(end, False)
    return ends


def limit_memory(limit: int | None) -> None:
    """Let allocations beyond `limit` bytes fail in this process, before they end others (where the system can)."""
    if limit is None or sys.platform == "win32":
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


def end_with_the_parent(every: float = 1.0) -> None:
    """End this process, whatever the target is doing, once the one that started it is gone.

    A closed pipe is only noticed between two requests: a target that hangs would outlive a parent that was killed.
    A thread watches, which cannot run while a target holds the interpreter's lock: see `end_with_the_starting_thread`.
    """
    parent, pause = os.getppid(), threading.Event()

    def watch() -> None:
        while os.getppid() == parent:
            pause.wait(every)
        os._exit(1)

    if sys.platform != "win32":
        threading.Thread(target=watch, daemon=True, name="end with the parent").start()


def end_with_the_starting_thread() -> None:
    """On Linux, let the system end this process once the thread that started it ends.

    It works even if the target holds the interpreter's lock, and costs no thread, so that times may be taken.
    """
    if sys.platform == "linux":
        parent = os.getppid()
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it was gone before its number was read
            os._exit(1)
