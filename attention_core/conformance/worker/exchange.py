"""What crosses the border between the suite and the code under test: requests out, responses back.

NumPy only. A request describes one call with plain arrays and scalars; a response holds what came back. The
same two types serve the worker process (as raw buffers and bounded JSON, never pickle) and calls in this process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from attention_core.conformance.worker.small_floats import FORMATS, decode_float8, encode_float8

NDArray = npt.NDArray[Any]

STORAGE = {
    "float64": "<f8",
    "float32": "<f4",
    "float16": "<f2",
    "bfloat16": "<u2",
    "bool": "|b1",
    "int64": "<i8",
    "int32": "<i4",
    "uint8": "|u1",
}
SENT: Mapping[str, str] = {**STORAGE, "int8": "|i1", **dict.fromkeys(FORMATS, "|u1")}
"""Every dtype that an argument may have, those of quantised keys and values among them, and how it travels."""
PARAMETER = "parameter:"
"""How the name of a module's parameter begins among what is differentiated by; its place follows, from 0."""
FLOATS = ("float64", "float32", "float16", "bfloat16")


def encode(values: NDArray, dtype: str) -> NDArray:
    """Values (exact in `dtype`) as an array of its storage type; bfloat16 travels as its upper 16 bits."""
    if dtype == "bfloat16":
        single = np.ascontiguousarray(values, dtype=np.float32)
        bits = single.view(np.uint32)
        upper = (bits >> np.uint32(16)).astype(np.uint16)
        return np.where(np.isnan(single), np.uint16(0x7FC0), upper).astype(np.uint16)
    if dtype in FORMATS:
        return encode_float8(values, dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.ascontiguousarray(values).astype(SENT[dtype], copy=False)


def decode(stored: NDArray, dtype: str) -> NDArray:
    """The stored array as float64 (floats) or unchanged (bool and integers)."""
    if dtype == "bfloat16":
        return (stored.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    if dtype in FORMATS:
        return decode_float8(stored, dtype)
    return stored.astype(np.float64) if dtype in FLOATS else stored


@dataclass(frozen=True)
class Array:
    """One array argument: a base buffer in storage type and a strided view on it (strides in elements)."""

    base: NDArray
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @property
    def is_plain(self) -> bool:
        """True when the view is the whole base in C order."""
        return self.offset == 0 and self.base.size == int(np.prod(self.shape)) and self.strides == c_strides(self.shape)


def c_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in elements of a C-contiguous array."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def array(values: NDArray, dtype: str, view: str = "contiguous", seed: int = 0) -> Array:
    """Lay `values` out in memory as `view` says; what lies outside the view is filled with NaN.

    Views: "contiguous", "transposed" (last two axes swapped in memory), "heads_last" (axes -3 and -2 swapped in
    memory), "rows_first" and "heads_first" (axis -2 or -3 outermost in memory), "sliced" (every second element of a
    larger last axis), "chunk" (the middle third of a last axis three times as wide), "heads_chunk" (the same
    of axes that lie as in "heads_last": keys of heads whose projections are joined), "padded" (a window of a larger
    buffer), "offset" (starts at an odd element), "expanded" (stride 0 along the leading axis: its values must be equal
    there), "broadcast" (stride 0 along every axis but the last where values repeat), "one_row" (stride 0 along the
    rows, in front of other rows of the same memory: where the rows differ it is contiguous), "repeated" (one number,
    all strides 0, as the cotangent of a sum: its values must all be equal).
    """
    values = np.asarray(values)
    shape = values.shape
    filler = np.nan if dtype in (*FLOATS, *FORMATS) else 1
    if view == "one_row" and (values.ndim < 2 or not (values == values[..., :1, :]).all()):
        view = "contiguous"
    if view == "contiguous" or values.ndim == 0 or values.size == 0:
        return Array(encode(values, dtype).reshape(-1), dtype, shape, c_strides(shape))
    axes = _order(view, values.ndim)
    if axes is not None:
        moved = values.transpose(axes)
        inner = c_strides(moved.shape)
        strides = tuple(inner[axes.index(k)] for k in range(values.ndim))
        return Array(encode(moved, dtype).reshape(-1), dtype, shape, strides)
    if view == "heads_chunk":
        if values.ndim < 3:
            return array(values, dtype, "chunk")
        chunk = array(values.swapaxes(-3, -2), dtype, "chunk")
        lead, (first, second, last) = chunk.strides[:-3], chunk.strides[-3:]
        return replace(chunk, shape=shape, strides=(*lead, second, first, last))
    if view in ("sliced", "chunk") or (view == "padded" and values.ndim >= 2):
        return _embed_in_buffer(values, dtype, view, filler)
    if view == "one_row":
        big, strides = np.full(shape, filler, dtype=values.dtype), c_strides(shape)
        big[..., 0, :] = values[..., 0, :]
        return Array(encode(big, dtype).reshape(-1), dtype, shape, (*strides[:-2], 0, strides[-1]))
    if view == "repeated":
        return Array(encode(values.reshape(-1)[:1], dtype), dtype, shape, (0,) * len(shape))
    if view == "broadcast" or (view == "expanded" and values.ndim >= 3):
        once = _once(values, range(values.ndim - 1)) if view == "broadcast" else values[:1]
        strides = tuple(
            0 if once.shape[axis] != shape[axis] else step for axis, step in enumerate(c_strides(once.shape))
        )
        return Array(encode(once, dtype).reshape(-1), dtype, shape, strides)
    flat = np.full(values.size + 7, filler, dtype=values.dtype)
    flat[3 : 3 + values.size] = values.reshape(-1)
    return Array(encode(flat, dtype), dtype, shape, c_strides(shape), 3)


def _embed_in_buffer(values: NDArray, dtype: str, view: str, filler: float) -> Array:
    """`values` in a larger buffer: every second element of it, the middle third, or a window."""
    shape = values.shape
    if view == "sliced":
        big = np.full((*shape[:-1], 2 * shape[-1]), filler, dtype=values.dtype)
        big[..., ::2] = values
        outer = c_strides(big.shape)
        return Array(encode(big, dtype).reshape(-1), dtype, shape, (*outer[:-1], 2))
    if view == "chunk":
        big = np.full((*shape[:-1], 3 * shape[-1]), filler, dtype=values.dtype)
        big[..., shape[-1] : 2 * shape[-1]] = values
        return Array(encode(big, dtype).reshape(-1), dtype, shape, c_strides(big.shape), shape[-1])
    big = np.full((*shape[:-2], shape[-2] + 3, shape[-1] + 2), filler, dtype=values.dtype)
    big[..., 1:-2, 1:-1] = values
    return Array(encode(big, dtype).reshape(-1), dtype, shape, c_strides(big.shape), shape[-1] + 3)


def _order(view: str, ndim: int) -> list[int] | None:
    """The order in memory of the axes that a view only moves; None for other views."""
    axes = list(range(ndim))
    if view == "transposed" and ndim >= 2:
        axes[-2], axes[-1] = axes[-1], axes[-2]
    elif view == "heads_last" and ndim >= 3:
        axes[-3], axes[-2] = axes[-2], axes[-3]
    elif view == "rows_first" and ndim >= 2:
        axes.insert(0, axes.pop(-2))
    elif view == "heads_first" and ndim >= 3:
        axes.insert(0, axes.pop(-3))
    else:
        return None
    return axes


def _once(values: NDArray, axes: Iterable[int]) -> NDArray:
    """The first of what repeats along some axes; an axis whose values differ stays whole."""
    for axis in axes:
        first = np.take(values, [0], axis=axis)
        values = first if (values == first).all() else values
    return values


@dataclass(frozen=True)
class Settings:
    """A config object for a constructor: values by name, of a class "module:name" or of a plain object.

    `keyed`: it is read as `config["name"]`.
    """

    values: Mapping[str, Any]
    of: str = ""
    keyed: bool = False


@dataclass(frozen=True)
class FlexArgument:
    """An argument of FlexAttention, made of a table (B or 1, H or 1, n_q, n_kv) in which (b, h, i, j) is looked up.

    `kind`: "mask_mod", whether a pair is allowed; "score_mod", what is added to its score; "block_mask", the BlockMask
    that torch's create_block_mask makes of such a mask_mod in blocks of `block` queries and keys.
    """

    kind: str
    table: Array
    block: tuple[int, int] = (128, 128)


@dataclass(frozen=True)
class Request:
    """One call that is made once, or differentiated.

    `wrt` names array arguments ("0", "1", ... or a keyword) to differentiate with `cotangent`,
    and parameters of a module by their place ("parameter:0", ...): those that are frozen are left out of the answer.

    `second` holds one direction per name in `wrt` and asks for second derivatives as well. `instance` keeps a
    built object alive under a number: (number, constructor arguments), or with a third member for those by keyword.
    `method` calls an attribute of the target. `describe` asks how the built object is called; nothing is called then.
    `loose` leaves out results after the first that are not arrays, such as a cache.
    `of` is the place of the result that is differentiated. `between` is a call that is made `betweens` times, and whose
    results and graphs are kept, after this one's forward, before its backward and before its results are read.
    `backwards` is how often the one graph is differentiated; the derivatives are those of the last time. `same` holds
    pairs of names: the first's argument is the second's object. `graph` leaves gradients on in a call whose own are not
    asked for: one that trains. `overwrite` says what the caller writes other numbers into once everything is read:
    "inputs", its arrays, or "outputs", what the call returned. `watch` seeds every global generator with a number and
    asks for their states, and for everything else that a call may change in its process. `apart` calls a copy of the
    target, where it is a module that can be copied: what the call leaves behind is not there for those that follow.
    `earlier` is a call that is made before this one with the very arrays of this one, which hold its numbers then:
    the caller writes this call's numbers into them afterwards. `written` names the arguments that the call writes its
    results into, in their order; what it returns does not count then. `threads` is torch's number of threads during
    the call. `stacked` puts the first three arguments into one array along a new axis (from the end): the call gets
    that one in their place, and they are views of it, unless they are differentiated. `as_it_is`: the function is
    called itself, where its calls are compiled otherwise.
    """

    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    method: str | None = None
    instance: tuple[Any, ...] | None = None
    wrt: tuple[str, ...] = ()
    cotangent: Array | None = None
    second: tuple[Array, ...] | None = None
    seed: int | None = None
    mode: str | None = None
    parameters: Mapping[str, Array] | None = None
    load_parameters: bool = False
    of: int = 0
    between: Request | None = None
    betweens: int = 1
    backwards: int = 1
    same: tuple[tuple[str, str], ...] = ()
    graph: bool = False
    overwrite: str = ""
    watch: int | None = None
    describe: bool = False
    loose: bool = False
    apart: bool = False
    earlier: Request | None = None
    written: tuple[str, ...] = ()
    threads: int | None = None
    stacked: int | None = None
    as_it_is: bool = False


@dataclass(frozen=True)
class Value:
    """One returned array: dtype and shape as they came, values in float64 (or bool, integers)."""

    dtype: str
    shape: tuple[int, ...]
    values: NDArray


@dataclass(frozen=True)
class Failure:
    """An exception on the other side: class names from the most derived up, message, traceback text.

    `homes` are the modules that define these classes, in the same order.
    """

    types: tuple[str, ...]
    message: str
    traceback: str = ""
    homes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Response:
    """What one call gave: "ok", "raised" (failure set), "died" or "hung" (message says how).

    `mutated` names the arguments that were changed, `shared` the places of results that lie in the memory of an
    argument, with its name; `changed` the settings of the process that the call changed, with their values before and
    after; `generators` holds digests of the states of the global generators where the request watches them. `bound`
    says how the call gave the parameters of each callable their values.
    """

    status: str
    outputs: tuple[Value, ...] = ()
    gradients: Mapping[str, Value | None] = field(default_factory=dict)
    second: Mapping[str, Value | None] = field(default_factory=dict)
    mutated: tuple[str, ...] = ()
    shared: tuple[tuple[int, str], ...] = ()
    failure: Failure | None = None
    message: str = ""
    seconds: float = 0.0
    has_graph: bool = True
    parameters: Mapping[str, Value] = field(default_factory=dict)
    changed: tuple[tuple[str, str, str], ...] = ()
    generators: Mapping[str, str] = field(default_factory=dict)
    described: Mapping[str, Any] = field(default_factory=dict)
    bound: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
