"""Memory that the grader shares with the process of a submission: inputs, outputs, and poison around both.

NumPy alone. Before a call the grader, with the process stopped, writes the inputs and poisons outputs and gaps; after
it, the process stopped again, it takes the outputs, and looks whether inputs and gaps are what they were.
"""

from __future__ import annotations

import math
import mmap
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from attention_core.conformance.worker.exchange import STORAGE
from attention_core.declaration.implementation import TargetError

Stored = npt.NDArray[Any]
GAP = 4096
"""Bytes of poison before and after every array."""
POISON = 0xFF
"""In every byte: NaN in every float, -1 in every signed integer."""
SHARED = Path("/dev/shm")


@dataclass(frozen=True)
class Field:
    """An array of the arena.

    Args:
        name: of the argument or result.
        dtype: a name of `exchange.STORAGE`.
        shape: as the call has it.
        order: the axes as they lie in memory, the outermost first; () for the order of the shape.
        is_output: whether the call writes it.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    order: tuple[int, ...] = ()
    is_output: bool = False

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """Bytes without the gaps."""
        return self.size * np.dtype(STORAGE[self.dtype]).itemsize

    def to_json(self) -> dict[str, Any]:
        """The field as JSON values."""
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Field:
        """The inverse of `to_json`."""
        lists = {name: tuple(map(int, data[name])) for name in ("shape", "order")}
        return Field(str(data["name"]), str(data["dtype"]), is_output=bool(data["is_output"]), **lists)


def offsets(fields: Sequence[Field]) -> tuple[list[int], int]:
    """Where each field begins, and the bytes of the whole.

    >>> offsets([Field("query", "float32", (3,))])
    ([4096], 12288)
    """
    starts, at = [], GAP
    for field in fields:
        starts.append(at)
        at += -(-field.bytes // GAP) * GAP + GAP
    return starts, at


class Arena:
    """The memory itself.

    Args:
        fields: the arrays, in their order.
        path: of a file that another process made; "" makes one.
    """

    def __init__(self, fields: Sequence[Field], path: str = "") -> None:
        self.fields = {field.name: field for field in fields}
        self.starts, size = offsets(fields)
        if path:
            descriptor = os.open(path, os.O_RDWR)
        else:
            folder = str(SHARED) if os.access(SHARED, os.W_OK) else None
            descriptor, path = tempfile.mkstemp(prefix="attention-core-grade-", dir=folder)
        self.path = path
        try:
            if os.fstat(descriptor).st_size != size:
                os.truncate(descriptor, size)
            self.map = mmap.mmap(descriptor, size)
        except OSError as error:
            raise TargetError(f"{size >> 20} MiB of shared memory cannot be had: {error.strerror}") from error
        finally:
            os.close(descriptor)
        self.bytes: npt.NDArray[np.uint8] = np.frombuffer(self.map, dtype=np.uint8)

    def start(self, name: str) -> int:
        """The place of a field's first byte."""
        return self.starts[list(self.fields).index(name)]

    def view(self, name: str) -> Stored:
        """A field's elements in storage type and the call's shape: the memory itself, not a copy."""
        field, start = self.fields[name], self.start(name)
        flat = self.bytes[start : start + field.bytes].view(STORAGE[field.dtype])
        if not field.order:
            return flat.reshape(field.shape)
        there = flat.reshape([field.shape[axis] for axis in field.order])
        return there.transpose([field.order.index(axis) for axis in range(len(field.order))])

    def write(self, values: Mapping[str, Stored]) -> None:
        """Put the inputs there, and poison everything else."""
        self.bytes[:] = POISON
        for name, value in values.items():
            self.view(name)[...] = value

    def read(self) -> dict[str, Stored]:
        """Copies of the outputs."""
        return {name: np.array(self.view(name)) for name, field in self.fields.items() if field.is_output}

    def find_change(self, values: Mapping[str, Stored]) -> str:
        """The first input whose bytes are not what was written, or ""."""
        for name, value in values.items():
            own = np.ascontiguousarray(self.view(name))
            if own.tobytes() != np.ascontiguousarray(value, dtype=own.dtype).tobytes():
                return name
        return ""

    def find_overrun(self) -> str:
        """The first field beside which the poison is gone, or ""."""
        ends = [start + field.bytes for start, field in zip(self.starts, self.fields.values(), strict=True)]
        nexts = [*self.starts[1:], len(self.bytes)]
        for field, end, following in zip(self.fields.values(), ends, nexts, strict=True):
            if (self.bytes[end:following] != POISON).any():
                return field.name
        return "" if (self.bytes[:GAP] == POISON).all() else next(iter(self.fields))

    def forget(self) -> None:
        """Take the file's name away; the memory stays with those who have it."""
        if os.path.exists(self.path):
            os.unlink(self.path)

    def is_unwritten(self, name: str) -> bool:
        """Whether an output is still poison throughout."""
        start = self.start(name)
        return bool((self.bytes[start : start + self.fields[name].bytes] == POISON).all())
