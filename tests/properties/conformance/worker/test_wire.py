"""The wire.

Frames between the suite and a worker: every message comes back as it was, and nothing else is taken for one.
The other end may be hostile: garbled, truncated, oversized and forged frames end in WireError, never in code.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import struct
import threading
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from attention_core.conformance.worker import wire
from attention_core.conformance.worker.exchange import (
    STORAGE,
    Array,
    Failure,
    FlexArgument,
    Request,
    Response,
    Value,
    c_strides,
)
from attention_core.worker import frames

HEAD = 16
scalars = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats() | st.text(max_size=5)
plain = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.integers(0, 9), inner, max_size=3)
    ),
    max_leaves=6,
)
shapes = st.lists(st.integers(0, 3), max_size=4).map(tuple)
names = st.sampled_from(["0", "1", "attn_mask"])


@st.composite
def arrays(draw: Any) -> Array:
    dtype, shape = draw(st.sampled_from(sorted(STORAGE))), draw(shapes)
    base = draw(hnp.arrays(np.dtype(STORAGE[dtype]), int(np.prod(shape)) + draw(st.integers(0, 3))))
    return Array(base, dtype, shape, c_strides(shape), draw(st.integers(0, 3)))


@st.composite
def values(draw: Any) -> Value:
    numbers = draw(hnp.arrays(draw(st.sampled_from([np.float64, np.bool_, np.int64])), draw(shapes)))
    return Value(draw(st.sampled_from(["float32", "bool", "torch.complex64"])), numbers.shape, numbers)


flexible = st.builds(FlexArgument, st.sampled_from(["mask_mod", "score_mod"]), arrays(), st.just((2, 3)))
requests = st.builds(
    Request,
    args=st.lists(arrays() | plain, max_size=3).map(tuple),
    kwargs=st.dictionaries(names, arrays() | flexible | plain, max_size=2),
    method=st.none() | st.text(max_size=4),
    instance=st.none() | st.tuples(st.integers(0, 9), st.tuples(plain)),
    wrt=st.lists(names, max_size=3).map(tuple),
    cotangent=st.none() | arrays(),
    second=st.none() | st.tuples(arrays(), arrays()),
    seed=st.none() | st.integers(0, 2**40),
    mode=st.none() | st.just("train"),
    parameters=st.none() | st.dictionaries(st.text(max_size=3), arrays(), max_size=2),
    load_parameters=st.booleans(),
)
failures = st.builds(Failure, types=st.lists(st.text(max_size=4)).map(tuple), message=st.text(), traceback=st.text())
responses = st.builds(
    Response,
    status=st.sampled_from(["ok", "raised", "died", "hung"]),
    outputs=st.lists(values(), max_size=2).map(tuple),
    gradients=st.dictionaries(names, st.none() | values(), max_size=2),
    second=st.dictionaries(names, st.none() | values(), max_size=2),
    mutated=st.lists(names, max_size=2).map(tuple),
    failure=st.none() | failures,
    message=st.text(),
    seconds=st.floats(0, 9),
    has_graph=st.booleans(),
    parameters=st.dictionaries(st.text(max_size=3), values(), max_size=2),
)


def require_equal(got: Any, want: Any) -> None:
    """Raise unless two messages are the same in type, structure and bits."""
    assert type(got) is type(want)
    if isinstance(want, np.ndarray):
        assert (got.dtype, got.shape, got.tobytes()) == (want.dtype, want.shape, want.tobytes())
    elif is_dataclass(want):
        for f in fields(want):
            require_equal(getattr(got, f.name), getattr(want, f.name))
    elif isinstance(want, dict):
        assert list(got) == list(want)
        for key in want:
            require_equal(got[key], want[key])
    elif isinstance(want, list | tuple):
        assert len(got) == len(want)
        for a, b in zip(got, want, strict=True):
            require_equal(a, b)
    else:
        assert got == want or (got != got and want != want)


def again(message: Any) -> Any:
    frame = wire.pack(message)
    head, body = struct.unpack("<QQ", frame[:HEAD])
    assert len(frame) == HEAD + head + body
    return wire.unpack(frame[HEAD : HEAD + head], frame[HEAD + head :])


@given(arrays() | values() | requests | failures | responses | plain)
def test_every_message_comes_back_as_it_was(message: Any) -> None:
    require_equal(again(message), message)


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    yield read, write
    for descriptor in (read, write):
        with contextlib.suppress(OSError):
            os.close(descriptor)


def test_a_frame_larger_than_the_pipe_crosses(pipe: tuple[int, int]) -> None:
    read, write = pipe
    message = Request((Array(np.arange(300_000.0), "float64", (300_000,), (1,)),))
    sender = threading.Thread(target=wire.send, args=(write, message))
    sender.start()
    require_equal(wire.receive(read, frames.after(20.0)), message)
    sender.join()


def written(pipe: tuple[int, int], data: bytes, timeout: float = 5.0) -> Any:
    read, write = pipe
    os.write(write, data)
    os.close(write)
    return wire.receive(read, frames.after(timeout))


def framed(header: bytes, payload: bytes = b"") -> bytes:
    return struct.pack("<QQ", len(header), len(payload)) + header + payload


NO_MESSAGE = {
    "not JSON": b"{",
    "not text": b"\xff\xfe\x00",
    "unknown record": b'{"__type__": "Popen", "args": ["true"]}',
    "unknown field": b'{"__type__": "Failure", "types": [], "message": "", "extra": 1}',
    "missing field": b'{"__type__": "Failure"}',
    "no record": b'{"status": "ok"}',
    "odd place": b'{"__nd__": [0, 8]}',
    "outside the payload": b'{"__nd__": [0, 800, "float64", [100]]}',
    "objects": b'{"__nd__": [0, 8, "object", [1]]}',
    "no such dtype": b'{"__nd__": [0, 8, "number", [1]]}',
    "wrong shape": b'{"__nd__": [0, 8, "float64", [3]]}',
    "huge shape": b'{"__nd__": [0, 8, "float64", [99999999999999999999999]]}',
    "map of nothing": b'{"__map__": [1, 2]}',
    "unhashable key": b'{"__map__": [[[], 1]]}',
    "deep": b"[" * 50_000,
}


@pytest.mark.parametrize("header", NO_MESSAGE.values(), ids=NO_MESSAGE)
def test_what_is_no_message_is_refused(pipe: tuple[int, int], header: bytes) -> None:
    with pytest.raises(frames.FrameError, match="message"):
        written(pipe, framed(header, b"12345678"))


@given(st.binary(max_size=40), st.binary(max_size=20))
def test_noise_is_refused_or_plain_data(header: bytes, payload: bytes) -> None:
    try:
        found = wire.unpack(header, payload)
    except frames.FrameError:
        return
    assert isinstance(found, str | int | float | bool | list | dict | None)


@given(responses, st.data())
def test_a_damaged_frame_never_raises_anything_else(message: Response, data: st.DataObject) -> None:
    frame = bytearray(wire.pack(message))
    head = struct.unpack("<Q", frame[:8])[0]
    frame[data.draw(st.integers(HEAD, len(frame) - 1))] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(frames.FrameError):
        wire.unpack(bytes(frame[HEAD : HEAD + head]), bytes(frame[HEAD + head :]))


def test_pickles_are_no_messages(pipe: tuple[int, int]) -> None:
    loaded: list[int] = []

    class Bomb:
        def __reduce__(self) -> Any:
            return loaded.append, (1,)

    with pytest.raises(frames.FrameError, match="message"):
        written(pipe, framed(pickle.dumps(Bomb())))
    assert not loaded


@pytest.mark.parametrize("sizes", [(frames.MAX_HEADER + 1, 0), (2, frames.MAX_PAYLOAD + 1), (2**64 - 1, 2**64 - 1)])
def test_announced_sizes_are_bounded(pipe: tuple[int, int], sizes: tuple[int, int]) -> None:
    with pytest.raises(frames.FrameError, match="larger than allowed"):
        written(pipe, struct.pack("<QQ", *sizes))


@pytest.mark.parametrize("count", [0, 7, 16, 20])
def test_a_truncated_frame_means_the_other_side_is_gone(pipe: tuple[int, int], count: int) -> None:
    with pytest.raises(frames.Closed, match="gone"):
        written(pipe, wire.pack({"a": "longer than that"})[:count])


def test_nothing_in_time(pipe: tuple[int, int]) -> None:
    os.write(pipe[1], wire.pack([1, 2])[:20])  # a frame that stops in the middle counts as silence too
    with pytest.raises(frames.TimedOut, match="in time"):
        wire.receive(pipe[0], frames.after(0.05))


def test_sending_to_nobody(pipe: tuple[int, int]) -> None:
    os.close(pipe[0])
    with pytest.raises(frames.Closed, match="gone"):
        wire.send(pipe[1], [1])


@pytest.mark.parametrize("value", [{1, 2}, 1j, b"bytes", object()])
def test_other_types_do_not_cross(value: Any) -> None:
    with pytest.raises(TypeError, match="not JSON serializable"):
        wire.pack(Request((value,)))


def test_what_is_as_usual_is_left_out_of_a_frame() -> None:
    array = Array(np.zeros(4), "float64", (2, 2), (2, 1))
    frame = wire.pack(Request((array, array, array)))
    assert struct.unpack("<QQ", frame[:HEAD])[0] < 300  # 394 with every field
