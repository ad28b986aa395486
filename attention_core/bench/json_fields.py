"""JSON values as what dataclasses declare: every value has the type and range of its field, or an error says where.

All of a file is looked at when it is opened: what is shown of it at the end of a run of hours must not fail then.

Numbers and words in what people write: on the command line of `bench`, in shapes, in saved results.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from types import NoneType
from typing import Annotated, Any, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

from attention_core.declaration.implementation import TargetError

DIGITS = 15


def parse_whole_number(text: str) -> int | None:
    """A number of at most `DIGITS` decimal digits; None for other texts.

    Example:
        >>> parse_whole_number("12"), parse_whole_number("-1")
        (12, None)
    """
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= DIGITS else None


def shorten(text: str) -> str:
    """A text that fits a line.

    Example:
        >>> shorten("n=1"), len(shorten(1000 * "n"))
        ('n=1', 83)
    """
    return text if len(text) <= 80 else f"{text[:80]}..."


@dataclass(frozen=True)
class Within:
    """A mark of a declared number: its range, both ends included."""

    low: float = -math.inf
    high: float = math.inf

    def expectation(self, value: Any) -> str:
        """What the value should be; "" where it is."""
        return "" if self.low <= value <= self.high else f"a number from {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class OneOf:
    """A mark of a declared text: what it may be."""

    words: tuple[str, ...]

    def expectation(self, value: Any) -> str:
        """What the value should be; "" where it is."""
        return "" if value in self.words else f"one of {', '.join(self.words)}"


@dataclass(frozen=True)
class Filled:
    """A mark of a declared mapping: it is not empty."""

    def expectation(self, value: Any) -> str:
        """What the value should be; "" where it is."""
        return "" if value else "something"


MARKS = (Within, OneOf, Filled)
Count = Annotated[int, Within(0, 1e15)]
Share = Annotated[float, Within(0)]
Factor = Annotated[float, Within(1e-30, 1e30)]
"""A ratio or a rate: what is divided by it, or drawn on an axis of powers, stays a number."""
Seconds = Annotated[float, Within(1e-20, 1e10)]
End = Annotated[float, Share | None]
"""Of an interval. What is marked by another type is read as that one: JSON holds None for an infinite end."""


def parse_value(kind: Any, value: Any, where: str) -> Any:
    """A JSON value as a declared type: a dataclass, list[T], dict[K, V], T | None, a typed dict, or a plain one.

    Args: kind, may be marked by `Within`, `OneOf`, `Filled`, or by another type that it is read as; where, the name of
        the value in messages.
    Returns: the value; dataclasses are made, by their own `from_json` where they have one. Raises: TargetError.
    Example:
        >>> parse_value(Annotated[int, Within(1, 8)], 3, "cores")
        3
    """
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        others = [mark for mark in inner[1:] if not isinstance(mark, MARKS)]
        found = parse_value(others[0] if others else inner[0], value, where)
        for mark in inner[1:]:
            if isinstance(mark, MARKS) and (wanted := mark.expectation(found)):
                raise type_error(where, value, wanted)
        return found
    if NoneType in inner:
        return None if value is None else parse_value(next(k for k in inner if k is not NoneType), value, where)
    if origin is NotRequired:
        return parse_value(inner[0], value, where)
    if origin is list:
        return [parse_value(inner[0], v, f"{where}[{i}]") for i, v in enumerate(plain(list, value, where))]
    if origin is dict:
        return {
            key_of(inner[0], k, where): parse_value(inner[1], v, f"{where}[{shorten(repr(k))}]")
            for k, v in plain(dict, value, where).items()
        }
    if is_dataclass(kind):
        return build_record(kind, plain(dict, value, where), where)
    return with_keys(kind, plain(dict, value, where), where) if is_typeddict(kind) else plain(kind, value, where)


def build_record(kind: Any, data: Mapping[str, Any], where: str) -> Any:
    """A dataclass of JSON values."""
    if hasattr(kind, "from_json"):
        try:
            return kind.from_json(data)
        except TargetError as error:
            raise TargetError(f"{where}: {error}") from None
    unknown = [name for name in data if name not in {f.name for f in fields(kind)}]
    if unknown:
        raise TargetError(f"{where or 'it'} has no field {shorten(repr(unknown[0]))}")
    return kind(**parse_fields(kind, data, where))


def parse_fields(kind: Any, data: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """The fields of a dataclass by name, each as it is declared; other keys are left out.

    Raises: TargetError: one is not there, or is something else.
    """
    types = types_of(kind)
    found = {}
    for name in (f.name for f in fields(kind)):
        if name not in data:
            raise TargetError(f"{where or 'it'} lacks {name!r}")
        found[name] = parse_value(types[name], data[name], f"{where}.{name}".lstrip("."))
    return found


def with_keys(kind: Any, data: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A typed dict: its own keys as they are declared, others as they are."""
    types = types_of(kind)
    for name, declared_type in types.items():
        if name not in data and get_origin(declared_type) is not NotRequired:
            raise TargetError(f"{where} lacks {name!r}")
    return {k: parse_value(types.get(k, Any), v, f"{where}.{k}") for k, v in data.items()}


@cache
def types_of(kind: Any) -> dict[str, Any]:
    """The declared types of the fields, with their marks."""
    return get_type_hints(kind, include_extras=True)


def key_of(kind: Any, key: str, where: str) -> Any:
    """A key of a mapping; JSON has texts alone, so a whole number is read from its digits."""
    if kind is not int:
        return parse_value(kind, key, f"a key of {where}")
    number = parse_whole_number(key)
    if number is None:
        raise type_error(f"a key of {where}", key, "a whole number")
    return number


def plain(kind: Any, value: Any, where: str) -> Any:
    """A value that is not a dataclass: of exactly its type (True is not a number), finite, and writable text."""
    if kind is Any:
        kind = type(value)
        for inner in value if kind is list else [*value, *value.values()] if kind is dict else ():
            plain(Any, inner, where)
    wanted = {bool: "true or false", str: "a text", list: "a list", dict: "an object", int: "a whole number",
              float: "a number"}  # fmt: skip
    if not isinstance(value, int | float if kind is float else kind) or (type(value) is bool and kind is not bool):
        raise type_error(where, value, wanted[kind])
    if isinstance(value, int | float) and not abs(value) <= sys.float_info.max:
        raise type_error(where, value, "a finite number")
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise type_error(where, value, "a text that can be written") from None
    return value


def type_error(where: str, value: Any, wanted: str) -> TargetError:
    """What is raised of a value that is something else."""
    return TargetError(f"{where} is {shorten(repr(value))}, and should be {wanted}")
