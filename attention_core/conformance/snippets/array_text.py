"""Arrays as program text: nested lists with short numbers, constant arrays, patterns, and views on a larger base.

What the text builds is bit for bit what the suite sent, memory layout included.

A large array by the pattern that it has: a few numbers repeated, blocks side by side, an identity.

A program of a few lines can be read; one that holds a megabyte of packed bytes cannot. A pattern is written only where
it gives the array back bit for bit.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from attention_core.conformance.worker.exchange import Array, NDArray, decode

LEAST = 64
"""Numbers that are written out, as they are or as what repeats; larger arrays are searched for a pattern."""

RUNS, MOST_READ = 6, 4096
"""Runs of one number each that are written one after the other; longer arrays are not looked at."""


def pattern(values: NDArray, library: str, prefix: str, dtype: str, nested: Callable[[NDArray], str]) -> str | None:
    """An expression for an array that repeats itself, or None.

    Args: values, of more than `LEAST` numbers; library, "torch", "numpy" or "jax"; prefix, its name in the program;
        dtype, the argument that names the dtype, or ""; nested, writes a small array as nested lists.
    Example:
        >>> pattern(np.tile([1.0, 2.0], 40).reshape(40, 2), "torch", "torch", "", lambda x: str(x.tolist()))
        'torch.tensor([[1.0, 2.0]]).repeat(40, 1)'
    """
    maker = "tensor" if library == "torch" else "array"
    period = period_of(values.reshape(-1), LEAST)
    shape = tuple(int(n) for n in values.shape)
    inner, times = tile_of(values)
    if inner.size <= LEAST:
        text = f"{prefix}.{maker}({nested(inner)}{dtype})"
    elif (runs := runs_of(inner)) is not None:
        text = f"{prefix}.{maker}({' + '.join(f'{nested(number)} * {n}' for number, n in runs)}{dtype})"
    elif period is not None:
        few = f"{prefix}.{maker}({nested(values.reshape(-1)[:period])}{dtype})"
        if library != "torch":
            return f"{prefix}.resize({few}, {shape})"
        return f"{few}.repeat({-(-values.size // period)})[:{values.size}].reshape({shape})"
    elif is_identity(inner):
        n, m = inner.shape[-2:]
        text = f"{prefix}.eye({n}, {m}{dtype})" + (f".reshape({inner.shape})" if inner.ndim > 2 else "")
    else:
        return None
    if max(times) == 1:
        return text
    return f"{text}.repeat{times}" if library == "torch" else f"{prefix}.tile({text}, {times})"


def tile_of(values: NDArray) -> tuple[NDArray, tuple[int, ...]]:
    """The smallest block that gives the array when it is laid side by side, and how often along each axis.

    Example:
        >>> tile, times = tile_of(np.array([1, 2, 1, 2]))
        >>> tile.tolist(), times
        ([1, 2], (2,))
    """
    times = []
    for axis, count in enumerate(values.shape):
        ahead = np.ascontiguousarray(values.swapaxes(0, axis))
        size = next(m for m in range(1, count + 1) if count % m == 0 and same(ahead[m:], ahead[:-m]))
        values = ahead[:size].swapaxes(0, axis)
        times.append(count // size)
    return values, tuple(times)


def period_of(flat: NDArray, most: int) -> int | None:
    """After how many numbers a flat array starts again, a quarter of it at most; None beyond `most`."""
    lengths = range(1, min(most, flat.size // 4) + 1)
    return next((p for p in lengths if same(flat[p : 4 * p], flat[: 3 * p]) and same(flat[p:], flat[:-p])), None)


def runs_of(flat: NDArray) -> list[tuple[NDArray, int]] | None:
    """The numbers of a flat array, one of each in a row, and how often each follows itself; None where these are many.

    Example:
        >>> [(number.tolist(), times) for number, times in runs_of(np.array([0.0, 0.0, 1.0]))]
        [([0.0], 2), ([1.0], 1)]
    """
    if flat.ndim != 1 or flat.size > MOST_READ:
        return None
    cuts = [k for k in range(1, flat.size) if not same(flat[k : k + 1], flat[k - 1 : k])]
    if len(cuts) >= RUNS:
        return None
    return [(part[:1], len(part)) for part in np.split(flat, cuts)]


def is_identity(block: NDArray) -> bool:
    """Whether a block is one matrix with ones on its diagonal and zeros elsewhere."""
    if block.ndim < 2 or block.size != block.shape[-1] * block.shape[-2] or block.dtype == bool:
        return False
    return same(block.reshape(block.shape[-2:]), np.eye(*block.shape[-2:], dtype=block.dtype))


def same(one: NDArray, other: NDArray) -> bool:
    """Whether two arrays hold the same bits; -0 is not 0."""
    if one.shape != other.shape or one.size == 0:
        return one.shape == other.shape or one.size == other.size == 0
    return one[:1].tobytes() == other[:1].tobytes() and one.tobytes() == other.tobytes()


MAX_ELEMENTS = 400
"""A larger array is written as packed bytes: too long to read, but the program still runs."""
WIDTH = 160
"""Of a line that holds several short ones."""
FEW, LARGE = 3, 16
"""An array of more than `LARGE` numbers, of which at most `FEW` differ from the rest, is filled and then set there."""
ROW = 128
"""The longest rows that are set one by one in an array that is otherwise one number."""
PREFIX = {"torch": "torch", "numpy": "np", "jax": "jnp"}


def literal(value: Any) -> str:
    """A scalar argument; NaN and infinity by the names of `math`."""
    if isinstance(value, float | np.floating):
        return repr(float(value))  # inf and nan: the snippet imports these names
    return repr(value)


def array_text(spec: Array, library: str = "torch") -> str:
    """An expression that rebuilds the described array, memory layout included."""
    base = decode(spec.base, spec.dtype)
    values = base.reshape(spec.shape) if spec.is_plain else base
    prefix = PREFIX[library]
    dtype = dtype_text(spec.dtype, library)
    if 0 in spec.shape:
        return f"{prefix}.zeros({spec.shape}{', dtype=bool' if spec.dtype == 'bool' else dtype})"
    flat = values.reshape(-1)
    if flat.size > 1 and (np.all(flat == flat[0]) or np.all(np.isnan(flat))):
        text = f"{prefix}.full({values.shape}, {_number(flat[0])}{dtype})"
    elif (repeated := write_pattern(values, spec.dtype, library)) is not None:
        text = repeated
    elif flat.size > MAX_ELEMENTS:
        text = pack(spec, library) + (f".reshape({values.shape})" if spec.is_plain else "")
    else:
        text = f"{prefix}.{'tensor' if library == 'torch' else 'array'}({_write_lists(values)}{dtype})"
    if spec.is_plain:
        return text
    if library == "torch":
        return f"{text}.as_strided({spec.shape}, {spec.strides}, {spec.offset})"
    size = {"float64": 8, "int64": 8, "float16": 2, "bfloat16": 2, "bool": 1, "uint8": 1, "int8": 1}.get(spec.dtype, 4)
    steps = tuple(s * size for s in spec.strides)
    view = f"np.lib.stride_tricks.as_strided(np.asarray({text})[{spec.offset}:], {spec.shape}, {steps})"
    return view if library == "numpy" else f"jnp.asarray({view})"


def assignment(name: str, spec: Array, library: str = "torch", *, gradient: bool = False) -> str:
    """A line `name = ...` that rebuilds the array: an expression, or a constant array and its few other numbers.

    An array of zeros and a one is "v = torch.full((1, 1, 129, 1), 0.); v[0, 0, 128, 0] = 1.".
    """
    text, ready = array_text(spec, library), ".requires_grad_()" if gradient else ""
    values = decode(spec.base, spec.dtype)
    if library == "jax" or values.size <= LARGE or (library != "torch" and not spec.is_plain):
        return f"{name} = {text}{ready}"  # arrays of JAX are not written to
    values = values.reshape(spec.shape) if spec.is_plain else values
    lines = write_fill(name, values, spec.dtype, library)
    if not lines and write_pattern(values, spec.dtype, library) is None:
        lines = filled_by_rows(name, values, spec.dtype, library)
    if not lines:
        return f"{name} = {text}{ready}"
    if not spec.is_plain:
        lines.append(f"{name} = {name}.as_strided({spec.shape}, {spec.strides}, {spec.offset})")
    return "; ".join([*lines, *([f"{name}{ready}"] if gradient else [])])


def write_pattern(values: NDArray, dtype: str, library: str) -> str | None:
    """A large array by what repeats in it, or None."""
    if values.size <= LEAST:
        return None
    return pattern(values, library, PREFIX[library], dtype_text(dtype, library), _write_lists)


def write_fill(name: str, values: NDArray, dtype: str, library: str) -> list[str]:
    """Statements that fill an array and set its few other numbers; none where there are more than `FEW`.

    What lies between the elements of a view is NaN: a pattern of it is filled first.
    """
    numbers, counts = np.unique(values, return_counts=True)
    rest = numbers[np.argmax(counts)]
    places = runs(values, (values != rest) & ~(np.isnan(values) & np.isnan(rest)))
    text: str | None = f"{PREFIX[library]}.full({values.shape}, {_number(rest)}{dtype_text(dtype, library)})"
    if len(places) > FEW and np.isnan(values).any():
        rest = numbers[np.argmax(np.where(np.isnan(numbers), 0, counts))]
        under = np.where(np.isnan(values), values, rest)
        places, text = runs(values, ~np.isnan(values) & (values != rest)), write_pattern(under, dtype, library)
    if text is None or not 0 < len(places) <= FEW:
        return []
    return [f"{name} = {text}", *(f"{name}[{at}] = {_number(number)}" for at, number in places)]


def runs(values: NDArray, others: NDArray) -> list[tuple[str, Any]]:
    """Index and number of the entries marked in `others`; in a flat array, neighbours of one number are one slice.

    Of an array of more axes no more than `FEW` + 1 entries are given: more than `FEW` are not written.

    Example:
        >>> [(place, float(x)) for place, x in runs(np.array([7.0, 7.0, 0.0]), np.array([True, True, False]))]
        [('0:2', 7.0)]
    """
    if values.ndim > 1:
        return [(", ".join(map(str, at)), values[tuple(at)]) for at in np.argwhere(others)[: FEW + 1]]
    found: list[tuple[str, Any]] = []
    at = np.flatnonzero(others)
    cuts = [k for k in range(1, len(at)) if at[k] != at[k - 1] + 1 or repr(values[at[k]]) != repr(values[at[k - 1]])]
    for part in np.split(at, cuts) if len(at) else []:
        first, last = int(part[0]), int(part[-1])
        found.append((f"{first}" if first == last else f"{first}:{last + 1}", values[first]))
    return found


def filled_by_rows(name: str, values: NDArray, dtype: str, library: str) -> list[str]:
    """Statements that fill an array and set its few other rows; none where there are more than `FEW`, or long ones."""
    if values.ndim < 2 or values.shape[-1] > ROW:
        return []
    numbers, counts = np.unique(values, return_counts=True)
    rest = numbers[np.argmax(counts)]
    others = np.argwhere(((values != rest) & ~(np.isnan(values) & np.isnan(rest))).any(axis=-1))
    if not 0 < len(others) <= FEW:
        return []
    maker, kind = ("tensor" if library == "torch" else "array"), dtype_text(dtype, library)
    full = f"{name} = {PREFIX[library]}.full({values.shape}, {_number(rest)}{kind})"
    rows = ((", ".join(map(str, at)), _write_lists(values[tuple(at)])) for at in others)
    return [full, *(f"{name}[{at}] = {PREFIX[library]}.{maker}({row}{kind})" for at, row in rows)]


def values_by_name(parameters: Mapping[str, Array]) -> list[str]:
    """Lines `values = {...}` of a module's parameters, those of one layer on a line."""
    layers: dict[str, list[str]] = {}
    for name, value in parameters.items():
        layers.setdefault(name.rpartition(".")[0], []).append(f"{name!r}: {array_text(value)}")
    lines = [", ".join(layer) for layer in layers.values()]
    return ("values = {" + ",\n    ".join(lines) + "}").split("\n")


def join_lines(lines: Sequence[str]) -> list[str]:
    """Short lines that belong together as one."""
    return ["; ".join(lines)] if sum(map(len, lines)) + 2 * len(lines) <= WIDTH and len(lines) > 1 else list(lines)


def pack(spec: Array, library: str) -> str:
    """An expression for the flat base of a large array, from its bytes (the snippet imports base64 and zlib).

    zlib's highest level saves a sixth of the characters and takes twenty times as long: a second for a layer's weights.
    """
    data = base64.b64encode(zlib.compress(np.ascontiguousarray(spec.base).tobytes())).decode()
    raw = f"bytearray(zlib.decompress(base64.b64decode('{data}')))"
    if library == "torch":
        return f"torch.frombuffer({raw}, dtype=torch.{spec.dtype})"
    kind = f"{PREFIX[library]}.{'bool_' if spec.dtype == 'bool' else spec.dtype}"
    return f"np.frombuffer({raw}, dtype={kind})"


def dtype_text(dtype: str, library: str) -> str:
    """The dtype argument, left out where the numbers alone imply it."""
    if dtype == "bool" or (library == "torch" and dtype == "float32"):
        return ""
    return f", dtype={PREFIX[library]}.{dtype}"


def _write_lists(values: NDArray) -> str:
    if values.ndim == 0:
        return _number(values)
    return "[" + ", ".join(_write_lists(v) for v in values) + "]"


def _number(x: Any) -> str:
    if isinstance(x, np.bool_ | bool) or getattr(x, "dtype", None) == np.bool_:
        return str(bool(x))
    if getattr(x, "dtype", np.dtype(float)).kind in "iu":
        return str(int(x))
    x = float(x)
    return f"{x:.0f}." if np.isfinite(x) and x == int(x) and abs(x) < 1e15 else repr(x)
