"""Arrays as program text: nested lists with short numbers, constant arrays, patterns, and views on a larger base.

What the text builds is bit for bit what the suite sent, memory layout included.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attention_core.conformance.snippets.patterns import LEAST, pattern
from attention_core.conformance.worker.exchange import Array, NDArray, decode

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
    size = {"float64": 8, "int64": 8, "float16": 2, "bfloat16": 2, "bool": 1, "uint8": 1}.get(spec.dtype, 4)
    steps = tuple(s * size for s in spec.strides)
    view = f"np.lib.stride_tricks.as_strided(np.asarray({text})[{spec.offset}:], {spec.shape}, {steps})"
    return view if library == "numpy" else f"jnp.asarray({view})"


def assignment(name: str, spec: Array, library: str = "torch", *, gradient: bool = False) -> str:
    """A line `name = ...` that rebuilds the array: an expression, or a constant array and its few other numbers.

    Example: assignment("v", a) is "v = torch.full((1, 1, 129, 1), 0.); v[0, 0, 128, 0] = 1." where 128 numbers are 0.
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

    Example: runs(np.array([7., 7., 0.]), np.array([True, True, False])) is [("0:2", 7.0)].
    """
    if values.ndim > 1:
        return [(", ".join(map(str, at)), values[tuple(at)]) for at in np.argwhere(others)]
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
