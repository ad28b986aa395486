"""Requests and responses as frames: records become JSON in the header, their arrays the raw bytes after it.

Arrays appear in the header as {"__array__": [place, dtype, ...]}; only plain JSON types, tuples, our records and arrays
can cross.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any

import numpy as np

from attention_core.conformance.worker.exchange import (
    Array,
    Failure,
    FlexArgument,
    NDArray,
    Request,
    Response,
    Settings,
    Value,
)
from attention_core.worker.frames import FrameError, frame, receive_frame, send_frame

_TYPES: dict[str, Any] = {t.__name__: t for t in (Array, Failure, FlexArgument, Request, Response, Settings, Value)}
_FIELDS = {
    kind: tuple((f.name, f.default if f.default_factory is MISSING else f.default_factory()) for f in fields(kind))
    for kind in _TYPES.values()
}
"""The fields of each record with their defaults: a field that holds its default is left out of a frame."""
_PLAIN = {str, int, float, bool, type(None)}


class _Buffers:
    """The raw buffers of one frame and where each begins."""

    def __init__(self) -> None:
        self.parts: list[bytes | memoryview] = []
        self.size = 0

    def add(self, data: NDArray) -> list[Any]:
        """Append an array; its place as [offset, bytes, dtype, shape]."""
        raw = np.ascontiguousarray(data)
        place = [self.size, raw.nbytes, data.dtype.str, data.shape]
        self.parts.append(raw.data if raw.nbytes else b"")
        self.size += raw.nbytes
        return place


def pack(message: Any) -> bytes:
    """A message (JSON values, our dataclasses, NumPy arrays) as one frame."""
    buffers = _Buffers()
    header = json.dumps(_lower(message, buffers), allow_nan=True).encode()
    return frame(header, buffers.size, buffers.parts)


def unpack(header: bytes | memoryview, payload: bytes | memoryview) -> Any:
    """The message of one frame.

    Raises:
        FrameError: the bytes are not a message.
    """
    try:
        return _raise(json.loads(bytes(header)), memoryview(payload))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError) as error:
        raise FrameError(f"not a message: {error}") from error


def _lower(value: Any, buffers: _Buffers) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is Array:  # by far the most frequent: one flat list
        return {"__array__": [*buffers.add(value.base), value.dtype, value.shape, value.strides, value.offset]}
    if kind is Value:
        return {"__value__": [*buffers.add(value.values), value.dtype, value.shape]}
    if kind in _FIELDS:
        body = {"__type__": kind.__name__}
        for name, default in _FIELDS[kind]:
            own = getattr(value, name)
            if own is not default and not (type(own) is type(default) and not own and not default):
                body[name] = _lower(own, buffers)
        return body
    if isinstance(value, np.ndarray):
        return {"__nd__": buffers.add(value)}
    if isinstance(value, tuple):
        return {"__tuple__": [_lower(v, buffers) for v in value]}
    if isinstance(value, list):
        return [_lower(v, buffers) for v in value]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {"__map__": [[_lower(k, buffers), _lower(v, buffers)] for k, v in value.items()]}
    return value


def _raise(value: Any, payload: memoryview) -> Any:
    if isinstance(value, list):
        return [_raise(v, payload) for v in value]
    if not isinstance(value, dict):
        return value
    if "__array__" in value:
        *place, dtype, shape, strides, offset = value["__array__"]
        return Array(_array(place, payload), dtype, tuple(shape), tuple(strides), offset)
    if "__value__" in value:
        *place, dtype, shape = value["__value__"]
        return Value(dtype, tuple(shape), _array(place, payload))
    if "__nd__" in value:
        return _array(value["__nd__"], payload)
    if "__map__" in value:
        return {_raise(k, payload): _raise(v, payload) for k, v in value["__map__"]}
    if "__tuple__" in value:
        return tuple(_raise(v, payload) for v in value["__tuple__"])
    body = {k: _raise(v, payload) for k, v in value.items() if k != "__type__"}
    return _TYPES[value["__type__"]](**body)


def _array(place: list[Any], payload: memoryview) -> NDArray:
    offset, size, name, shape = place
    flat: NDArray = np.frombuffer(payload[offset : offset + size], dtype=name)
    return flat.reshape(shape)


def send(descriptor: int, message: Any) -> None:
    """Write one frame to a file descriptor."""
    send_frame(descriptor, pack(message))


def receive(descriptor: int, expired: Callable[[], bool] | None = None) -> Any:
    """Read one frame; while nothing comes, poll `expired` every `STEP` seconds."""
    return unpack(*receive_frame(descriptor, expired))
