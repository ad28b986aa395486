"""Messages between the benchmark and its worker: JSON with its length before it, over pipes. Never pickle."""

from __future__ import annotations

import json
import os
import select
import struct
import time
from collections.abc import Callable
from typing import Any

Tell = Callable[[dict[str, Any]], None]
"""Sends one message to the benchmark."""
LARGEST = 1 << 28
"""Bytes of a message at most."""
HEAD = struct.Struct("<Q")


class Ended(Exception):
    """The other side has closed its end, or sent something that is not a message."""


class TimedOut(Exception):
    """No message came in time."""


def send(descriptor: int, message: dict[str, Any]) -> None:
    """Write one message. Raises: OSError where nobody reads."""
    data = json.dumps(message).encode()
    view = memoryview(HEAD.pack(len(data)) + data)
    while view:
        view = view[os.write(descriptor, view) :]


def receive(descriptor: int, timeout: float | None = None) -> dict[str, Any]:
    """Read one message.

    Raises: Ended, TimedOut. A message that stops halfway is Ended, and one that comes too slowly TimedOut.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    (length,) = HEAD.unpack(_read(descriptor, HEAD.size, deadline))
    if length > LARGEST:
        raise Ended(f"a message of {length} bytes")
    try:
        found = json.loads(_read(descriptor, length, deadline))
    except ValueError as error:
        raise Ended(f"no JSON: {error}") from error
    if not isinstance(found, dict):
        raise Ended("no object")
    return found


def _read(descriptor: int, count: int, deadline: float | None) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        if not select.select([descriptor], [], [], left)[0]:
            raise TimedOut
        chunk = os.read(descriptor, min(count - len(parts), 1 << 20))
        if not chunk:
            raise Ended("closed")
        parts += chunk
    return bytes(parts)
