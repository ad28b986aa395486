"""Locks that end with the process that holds them, however it ends: a trial whose lock is free is not running."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from finetune.errors import BadInput


class Held:
    """A lock that this process holds until the context ends."""

    def __init__(self, handle: int) -> None:
        self.handle = handle

    def __enter__(self) -> Held:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self.handle)


def try_lock(path: str | Path) -> Held | None:
    """The lock of a file, made where it is not there; None where somebody holds it.

    Raises: BadInput where the file cannot be made.
    """
    handle = _open(path)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return Held(handle)


@contextmanager
def only_run_in(folder: str | Path | None) -> Iterator[None]:
    """Within, no other process writes into a folder of runs (None: nothing is written).

    Raises: BadInput where another one does.
    """
    if folder is None:
        yield
        return
    lock = try_lock(Path(folder) / "run.lock")
    if lock is None:
        raise BadInput(f"another run is writing into {folder}: wait for it, or take another folder")
    with lock:
        yield


@contextmanager
def only_writer_of(path: str | Path) -> Iterator[None]:
    """Within, no other run writes this file; of the processes of one run the first holds the lock.

    Raises: BadInput where another one does.
    """
    if os.environ.get("RANK", "0") != "0":
        yield
        return
    lock = try_lock(f"{os.path.realpath(path)}.lock")  # of what a link points to: another run may write it by its name
    if lock is None:
        raise BadInput(f"another run is writing {path}: wait for it, or write another file")
    with lock:
        yield


def lock_file(path: str | Path) -> Held:
    """The lock of a file, once no other process holds it. Raises: BadInput where the file cannot be made."""
    handle = _open(path)
    fcntl.flock(handle, fcntl.LOCK_EX)
    return Held(handle)


def _open(path: str | Path) -> int:
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except FileExistsError:
        folder = Path(path).parent
        raise BadInput(f"{path} cannot be made: {folder} is a file, or a link that leads to no folder") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be made: {error.strerror}") from None
