"""A function of a shared library as a target: a TOML file describes its arguments, ctypes calls it.

Arrays are handed over by pointer, in the order of rows, each in memory of its own between two guards. What the function
writes into a guard, or into an array that it is given to read, is an access where it has none.

    library = "libattention.so"          # beside the description

    [attention]                          # the function; symbol = "..." where its name is another one
    returns = "status"                   # other than 0 declines the call; without it nothing is returned
    arguments = [
        {array = "query", dtype = "float32", shape = ["B*", "H", "n_q", "d"]},
        {array = "key", dtype = "float32", shape = ["B*", "H", "n_kv", "d"]},
        {array = "value", dtype = "float32", shape = ["B*", "H", "n_kv", "d_v"]},
        {result = "out", dtype = "float32", shape = ["B*", "H", "n_q", "d_v"]},
        {size = "B*", type = "int32"}, {size = "H", type = "int32"},
        {value = "is_causal", type = "bool", default = false},
        {value = "scale", type = "float32", default = "1/sqrt(d)"},
    ]

A description is data: nothing in it is run. The library is code, and runs in the worker.
"""

from __future__ import annotations

import ctypes
import inspect
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from attention_core.declaration.implementation import TargetError
from attention_core.worker.foreign import ForeignFunction

NUMBERS: Mapping[str, Any] = {
    "float32": ctypes.c_float, "float64": ctypes.c_double, "int32": ctypes.c_int32, "int64": ctypes.c_int64,
    "size_t": ctypes.c_size_t, "bool": ctypes.c_bool,
}  # fmt: skip
"""Types of sizes and values."""
ELEMENTS = ("float16", "float32", "float64", "int8", "uint8", "int32", "int64", "bool")
"""Types of what an array holds."""
ROLES: Mapping[str, tuple[str, ...]] = {
    "array": ("dtype", "shape", "optional"), "result": ("dtype", "shape"), "size": ("type",),
    "value": ("type", "default"),
}  # fmt: skip
"""What an argument can be -> its further keys."""
FLOATS = ("float16", "float32", "float64")
INPUTS = 3
SCALE = "1/sqrt(d)"
"""A default that is computed: one over the root of the size d."""
GUARD = 4096
"""Bytes before and after every array, of NaN."""
PATTERN = 0xFF
"""Of every byte of a guard, and of a result before the call: NaN in each float."""


class FaultyAccess(Exception):
    """A function writes outside of its results."""


@dataclass(frozen=True)
class Argument:
    """One argument of a function.

    Args:
        role: one of `ROLES`. name: of the parameter, the result or the size. type: of its numbers.
        shape: names of sizes, or sizes; one that ends in "*" stands for all leading axes together.
        default: of a value; None where there is none. optional: whether an array may be left out (a null pointer).
    """

    role: str
    name: str
    type: str
    shape: tuple[str | int, ...] = ()
    default: Any = None
    optional: bool = False


class LibraryFunction(ForeignFunction):
    """A function of a library, and how it is called."""

    def __init__(self, name: str, function: Any, arguments: Sequence[Argument], *, has_status: bool) -> None:
        self.function, self.arguments, self.has_status = function, arguments, has_status
        function.restype = ctypes.c_int if has_status else None
        inputs = [one for one in arguments if one.role == "array"]
        kinds = {one.type for one in inputs[:INPUTS] if one.type in FLOATS}
        super().__init__(name, [parameter_of(one) for one in arguments if has_parameter(one)], sorted(kinds) or FLOATS)

    def call(self, values: dict[str, Any]) -> Any:
        """The results, one by itself.

        Raises:
            ValueError: shapes or dtypes do not fit, or its status declines the call.
            FaultyAccess: it has written outside of its results.
        """
        sizes: dict[str, int] = {}
        leading: tuple[int, ...] = ()
        arrays = {}
        for one in self.arguments:
            if one.role == "array" and values[one.name] is not None:
                arrays[one.name] = check_array(one, values[one.name])
        for one in sorted(self.arguments, key=lambda one: one.optional):
            if one.name in arrays and not one.optional:
                leading = read_sizes(one, arrays[one.name].shape, sizes) or leading
        memories: dict[str, Memory] = {}
        given: list[Any] = []
        for one in self.arguments:
            if one.role in ("array", "result"):
                if one.role == "array" and one.name not in arrays:
                    given.append(None)
                    continue
                shape = tuple(size if isinstance(size, int) else sizes[size] for size in one.shape)
                memories[one.name] = Memory(shape, one.type, fit(one, arrays.get(one.name), shape, leading))
                given.append(memories[one.name].pointer)
            else:
                value = sizes[one.name] if one.role == "size" else values[one.name]
                given.append(NUMBERS[one.type](1 / math.sqrt(sizes["d"]) if value == SCALE else value))
        status = self.function(*given)
        for name, memory in memories.items():
            memory.check(name)
        if self.has_status and status:
            raise ValueError(f"{self.__name__} returned the status {status}")
        results = [give(one, memories[one.name], leading) for one in self.arguments if one.role == "result"]
        return results[0] if len(results) == 1 else tuple(results)


class Memory:
    """An array between two guards: of the numbers of an input, or of NaN for a result.

    Args: shape, type: of the array. values: of an input; None for a result.
    """

    def __init__(self, shape: tuple[int, ...], kind: str, values: Any) -> None:
        self.dtype, self.shape = np.dtype(kind), shape
        self.bytes = int(np.prod(shape, dtype=np.int64)) * self.dtype.itemsize
        self.raw = np.full(self.bytes + 2 * GUARD, PATTERN, np.uint8)
        self.array = self.raw[GUARD : GUARD + self.bytes].view(self.dtype).reshape(shape)
        self.given = values is not None
        if self.given:
            self.array[...] = values
        self.before = self.raw.tobytes()
        self.pointer = ctypes.c_void_p(self.raw.ctypes.data + GUARD)

    def check(self, name: str) -> None:
        """Raise FaultyAccess where a guard, or an input, is not what it was."""
        after = self.raw.tobytes()
        if after[:GUARD] != self.before[:GUARD]:
            raise FaultyAccess(f"it writes before {name}")
        if after[GUARD + self.bytes :] != self.before[GUARD + self.bytes :]:
            raise FaultyAccess(f"it writes past the end of {name}")
        if self.given and after != self.before:
            raise FaultyAccess(f"it writes into its input {name}")


def check_array(argument: Argument, value: Any) -> np.ndarray[Any, Any]:
    """The array of an argument.

    Raises:
        ValueError: it holds other numbers.
    """
    array = np.asarray(value)
    if array.dtype.name != argument.type:
        raise ValueError(f"{argument.name} is of {argument.type}, got {array.dtype.name}")
    return array


def read_sizes(argument: Argument, shape: tuple[int, ...], sizes: dict[str, int]) -> tuple[int, ...]:
    """Add the sizes that an array's shape tells; give its leading axes, where it has such.

    Raises:
        ValueError: it has another number of axes, or a size that is another one already.

    Example:
        >>> sizes = {}
        >>> read_sizes(Argument("array", "q", "float32", ("B*", "n", "d")), (2, 3, 5, 4), sizes), sizes
        ((2, 3), {'B*': 6, 'n': 5, 'd': 4})
    """
    names = argument.shape
    leading: tuple[int, ...] = ()
    spread = str(names[0]).endswith("*")
    if len(shape) < len(names) - spread or (not spread and len(shape) > len(names)):
        raise ValueError(f"{argument.name} has the axes {', '.join(map(str, names))}, got {len(shape)} axes")
    if spread:
        count = len(shape) - len(names) + 1
        leading, shape = shape[:count], (math.prod(shape[:count]), *shape[count:])
    for name, size in zip(names, shape, strict=True):
        wanted = name if isinstance(name, int) else sizes.setdefault(name, size)
        if wanted != size:
            raise ValueError(f"{argument.name} has {size} in place of {name}, which is {wanted}")
    return leading


def fit(argument: Argument, value: Any, shape: tuple[int, ...], leading: tuple[int, ...]) -> Any:
    """An input in the shape that its function reads: one that may be left out is broadcast to it.

    Raises:
        ValueError: it cannot be.
    """
    if value is None:
        return None
    if argument.optional:
        whole = (*leading, *shape[1:]) if str(argument.shape[0]).endswith("*") else shape
        return np.broadcast_to(value, whole).reshape(shape)
    return value.reshape(shape)


def give(argument: Argument, memory: Memory, leading: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """A result in memory of its own, with its leading axes."""
    rest = memory.shape[1:] if str(argument.shape[0]).endswith("*") else memory.shape
    return memory.array.reshape((*leading, *rest) if rest is not memory.shape else rest).copy()


def has_parameter(argument: Argument) -> bool:
    """Whether Python gives an argument a value."""
    return argument.role in ("array", "value")


def parameter_of(argument: Argument) -> inspect.Parameter:
    """The parameter of an array or a value."""
    optional = argument.optional or argument.default is not None
    default = argument.default if optional else inspect.Parameter.empty
    return inspect.Parameter(argument.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)


# --- descriptions --------------------------------------------------------------------------------


def load_function(path: str, name: str = "") -> LibraryFunction:
    """Load a function of a description, the only one where no name is given.

    Raises:
        TargetError: the file, the library, the function in it or a line of the description is missing or wrong.
    """
    functions, library = read_description(path)
    if name not in ("", *functions) or (not name and len(functions) != 1):
        there = ", ".join(functions) or "none"
        raise TargetError(
            f"{path} describes {there}: write {path}:NAME" if functions else f"{path} describes no function"
        )
    name = name or next(iter(functions))
    table = functions[name]
    arguments = [read_argument(f"{path}: {name}", one) for one in table["arguments"]]
    check_arguments(f"{path}: {name}", arguments)
    symbol = table.get("symbol", name)
    try:
        loaded = ctypes.CDLL(str(library))
    except OSError as error:
        raise TargetError(f"{path}: the library cannot be loaded: {str(error).splitlines()[0]}") from error
    try:
        function = getattr(loaded, symbol)
    except AttributeError:
        raise TargetError(
            f'{library} has no function {symbol!r}: is it static, or named by C++ (extern "C")? nm -D lists its names'
        ) from None
    return LibraryFunction(name, function, arguments, has_status=table.get("returns") == "status")


def read_description(path: str) -> tuple[dict[str, dict[str, Any]], Path]:
    """The functions of a description, and the path of its library.

    Raises:
        TargetError: one line that says which part is missing or wrong.
    """
    try:
        data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError:
        raise TargetError(f"no such file: {path}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TargetError(f"{path} is not valid TOML: {str(error).splitlines()[0]}") from error
    library = data.pop("library", None)
    if not isinstance(library, str):
        raise TargetError(f'{path} names no library: write library = "NAME.so" in its first line')
    where = Path(path).resolve().parent / library
    if not where.is_file():
        raise TargetError(f"{path}: there is no library {where}: build it first")
    for name, table in data.items():
        if not isinstance(table, dict) or not isinstance(table.get("arguments"), list):
            raise TargetError(f"{path}: {name} has no arguments: write arguments = [{{array = ...}}, ...] in [{name}]")
        unknown = [key for key in table if key not in ("arguments", "returns", "symbol")]
        if unknown:
            raise TargetError(f"{path}: {name} has {unknown[0]!r}; a function has arguments, returns and symbol")
        if table.get("returns", "status") != "status":
            raise TargetError(f'{path}: {name} returns {table["returns"]!r}: leave it out, or write "status"')
    return data, where


def read_argument(where: str, table: Any) -> Argument:
    """One argument of a description.

    Raises:
        TargetError: one line that says what is wrong with it.
    """
    role = next((role for role in ROLES if isinstance(table, dict) and role in table), None)
    if role is None or not isinstance(table[role], str):
        raise TargetError(f"{where}: an argument is one of {', '.join(ROLES)}, with a name, not {table!r}")
    name, label = table[role], f"{where}: {role} {table[role]!r}"
    unknown = [key for key in table if key not in (role, *ROLES[role])]
    if unknown:
        raise TargetError(f"{label} has {unknown[0]!r}; it may have {', '.join(ROLES[role])}")
    word, kinds = ("dtype", ELEMENTS) if role in ("array", "result") else ("type", tuple(NUMBERS))
    if table.get(word) not in kinds:
        raise TargetError(f"{label}: its {word} is one of {', '.join(kinds)}, not {table.get(word)!r}")
    shape = table.get("shape", [])
    if word == "dtype" and (not shape or not all(type(size) in (int, str) for size in shape)):
        raise TargetError(f'{label}: its shape is a list of sizes, such as ["B*", "n", "d"]')
    default = table.get("default")
    if default is not None and default != SCALE and type(default) not in (int, float, bool):
        raise TargetError(f"{label}: its default is a number or {SCALE!r}, not {default!r}")
    return Argument(role, name, table[word], tuple(shape), default, bool(table.get("optional")))


def check_arguments(where: str, arguments: Sequence[Argument]) -> None:
    """Refuse arguments that do not make a function of arrays.

    Raises:
        TargetError: no array or no result, a name that is there twice, or a size that no array tells.
    """
    for role in ("array", "result"):
        if not any(one.role == role for one in arguments):
            raise TargetError(
                f"{where} has no {role}: one of its arguments is {{{role} = ..., dtype = ..., shape = ...}}"
            )
    known: list[str | int] = [s for one in arguments if one.role == "array" and not one.optional for s in one.shape]
    names = [one.name for one in arguments if one.role != "size"]
    for one in arguments:
        if names.count(one.name) > 1:
            raise TargetError(f"{where} has two arguments {one.name!r}")
        needs = {"size": (one.name,), "array": one.shape, "result": one.shape}.get(one.role, ())
        needs = (*needs, *(["d"] if one.default == SCALE else []))
        missing = [size for size in needs if not isinstance(size, int) and size not in known]
        if missing:
            raise TargetError(f"{where}: no array tells the size {missing[0]!r} of {one.role} {one.name!r}")
