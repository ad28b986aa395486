"""Frames between two processes: a JSON header of bounded size, then raw bytes, over pipes. Never pickle.

Frame: 8 bytes header length, 8 bytes payload length (little endian), header, payload. A message without a payload is
one JSON object.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import struct
import time
from collections.abc import Callable, Iterable
from typing import Any

MAX_HEADER = 16 << 20
MAX_PAYLOAD = 1 << 30
MAX_MESSAGE = 1 << 28
"""Bytes of a JSON object that is a whole message."""
PIPE_SIZE = 1 << 20
HEAD = struct.Struct("<QQ")
STEP = 0.2
"""Seconds between two looks at a process that does not answer."""
Tell = Callable[[dict[str, Any]], None]
"""Sends one message to the calling process."""


class FrameError(Exception):
    """The other side sent something that is not a frame."""


class Closed(FrameError):
    """The other side is gone."""


class TimedOut(FrameError):
    """Nothing came in time."""


def widen(descriptor: int) -> None:
    """Let a pipe hold a whole frame, so that the two sides wake each other less often (Linux; elsewhere nothing)."""
    with contextlib.suppress(OSError, AttributeError):
        fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, PIPE_SIZE)


def frame(header: bytes, size: int = 0, parts: Iterable[bytes | memoryview] = ()) -> bytes:
    """Return a header and a payload of `size` bytes as one frame."""
    return b"".join([HEAD.pack(len(header), size), header, *parts])


def send_frame(descriptor: int, data: bytes) -> None:
    """Write one frame.

    Raises:
        Closed: the other end of the pipe is closed.
    """
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view[: 1 << 20]) :]
        except BrokenPipeError as error:
            raise Closed("the other side is gone") from error


def receive_frame(
    descriptor: int, expired: Callable[[], bool] | None = None, largest: int = MAX_HEADER
) -> tuple[memoryview, memoryview]:
    """Read the header and the payload of one frame.

    Args:
        descriptor: the end of a pipe.
        expired: called every `STEP` seconds while nothing comes; whether to give up.
        largest: bytes of a header at most.

    Raises:
        FrameError: what comes is not a frame. Closed, TimedOut: it stops halfway, or does not come.
    """
    head, body = HEAD.unpack(_read(descriptor, HEAD.size, expired))
    if head > largest or body > MAX_PAYLOAD:
        raise FrameError("a frame larger than allowed")
    data = memoryview(_read(descriptor, head + body, expired))
    return data[:head], data[head:]


def send(descriptor: int, message: dict[str, Any]) -> None:
    """Write a JSON object as a message.

    Raises:
        Closed: the other end of the pipe is closed.
    """
    send_frame(descriptor, frame(json.dumps(message).encode()))


def receive(descriptor: int, expired: Callable[[], bool] | None = None) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        FrameError: what comes is not a JSON object. Closed, TimedOut: it stops halfway, or does not come.
    """
    header, _ = receive_frame(descriptor, expired, MAX_MESSAGE)
    try:
        message = json.loads(bytes(header))
    except ValueError as error:
        raise FrameError(f"not a message: {error}") from error
    if not isinstance(message, dict):
        raise FrameError("not a message: not a JSON object")
    return message


def after(seconds: float) -> Callable[[], bool]:
    """A limit by the clock, for `receive`."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end


def _read(descriptor: int, count: int, expired: Callable[[], bool] | None) -> bytes:
    parts: list[bytes] = []
    last = time.monotonic()
    while count:
        if expired is not None:
            ready = bool(select.select([descriptor], [], [], STEP)[0])
            if not ready or time.monotonic() - last > STEP:
                last = time.monotonic()
                if expired():
                    raise TimedOut("no answer in time")
            if not ready:
                continue
        part = os.read(descriptor, min(count, 1 << 20))
        if not part:
            raise Closed("the other side is gone")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
