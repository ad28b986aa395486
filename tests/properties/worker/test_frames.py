"""Frames between processes: what comes is what was sent; anything else ends the exchange."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

import pytest

from attention_core.worker import frames
from attention_core.worker.frames import MAX_MESSAGE, Closed, FrameError, TimedOut, after, receive, send


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    yield read, write
    for end in (read, write):
        try:
            os.close(end)
        except OSError:
            continue


def test_messages_come_back(pipe: tuple[int, int]) -> None:
    read, write = pipe
    for message in ({}, {"a": [1.5, None, "ä"], "b": {"c": True}}, {"long": "x" * 30000}):
        send(write, message)
        assert receive(read, after(5.0)) == message


def test_what_the_system_takes_in_parts_is_sent_whole(pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = pipe
    whole = os.write
    monkeypatch.setattr(frames.os, "write", lambda end, data: whole(end, bytes(data)[:7]))
    send(write, {"long": "x" * 100})
    monkeypatch.undo()
    os.close(write)
    assert receive(read, after(5.0)) == {"long": "x" * 100}


def test_silence_times_out(pipe: tuple[int, int]) -> None:
    with pytest.raises(TimedOut):
        receive(pipe[0], after(0.01))


def test_half_a_message_times_out_or_ends(pipe: tuple[int, int]) -> None:
    read, write = pipe
    os.write(write, struct.pack("<QQ", 100, 0) + b"{")
    with pytest.raises(TimedOut):
        receive(read, after(0.01))
    os.close(write)
    with pytest.raises(Closed):
        receive(read, after(1.0))


@pytest.mark.parametrize("data", [b"not json", b"[1]", b"3", b"\xff\xfe", b"null"])
def test_what_is_no_message_ends_the_exchange(pipe: tuple[int, int], data: bytes) -> None:
    os.write(pipe[1], struct.pack("<QQ", len(data), 0) + data)
    with pytest.raises(FrameError):
        receive(pipe[0], after(1.0))


def test_a_flood_is_refused_before_it_is_read(pipe: tuple[int, int]) -> None:
    os.write(pipe[1], struct.pack("<QQ", MAX_MESSAGE + 1, 0))
    with pytest.raises(FrameError, match="larger than allowed"):
        receive(pipe[0], after(1.0))
