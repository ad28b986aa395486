"""Reading JSON as dataclasses.

JSON as what is declared: the values that are, and the words for those that are not (files: report/test_results.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, NotRequired, TypedDict

import pytest

from attention_core.bench.json_fields import End, Filled, OneOf, Within, parse_value
from attention_core.declaration.implementation import TargetError


class Told(TypedDict):
    a: int
    b: NotRequired[str]


@dataclass
class Inner:
    number: Annotated[int, Within(1, 3)]
    words: list[str] = field(default_factory=list)


@dataclass
class Outer:
    inner: dict[str, Inner]
    maybe: Annotated[float, Within(0)] | None
    told: Annotated[dict[str, Any], Told]


GOOD: list[tuple[Any, Any]] = [
    (int, 3),
    (float, 3),
    (float, -2.5),
    (bool, True),
    (str, "é"),
    (Any, {"a": [None, True, 1.5, {"b": "c"}]}),
    (End, None),
    (End, 0.5),
    (list[list[float]], [[1.0], []]),
    (Annotated[str, OneOf(("a", "b"))], "b"),
    (Told, {"a": 1, "b": "x", "more": [1]}),
    (Annotated[dict[str, int], Filled()], {"a": 1}),
]


@pytest.mark.parametrize(("kind", "value"), GOOD)
def test_what_is_as_declared_comes_back(kind: Any, value: Any) -> None:
    assert parse_value(kind, value, "x") == value


def test_dataclasses_are_made_and_keys_are_numbers() -> None:
    value = {"inner": {"k": {"number": 2, "words": ["a"]}}, "maybe": None, "told": {"a": 1}}
    assert parse_value(Outer, value, "") == Outer({"k": Inner(2, ["a"])}, None, {"a": 1})
    assert parse_value(dict[int, float], {"10": 1.0}, "x") == {10: 1.0}


BAD: list[tuple[Any, Any, str]] = [
    (int, True, "x is True, and should be a whole number"),
    (int, 1.0, "x is 1.0, and should be a whole number"),
    (float, "1", "x is '1', and should be a number"),
    (float, float("nan"), "x is nan, and should be a finite number"),
    (float, 10**400, "and should be a finite number"),
    (bool, 1, "x is 1, and should be true or false"),
    (str, None, "x is None, and should be a text"),
    (str, "\udcff", "x is '\\udcff', and should be a text that can be written"),
    (Any, {"a": [float("inf")]}, "x is inf, and should be a finite number"),
    (Any, {"\udcff": 1}, "x is '\\udcff', and should be a text that can be written"),
    (End, -1, "x is -1, and should be a number from 0 to inf"),
    (list[int], [1, "2"], "x[1] is '2', and should be a whole number"),
    (dict[str, int], {"a": None}, "x['a'] is None, and should be a whole number"),
    (dict[int, int], {"1٣": 1}, "a key of x is '1٣', and should be a whole number"),
    (Annotated[str, OneOf(("a", "b"))], "c", "x is 'c', and should be one of a, b"),
    (Told, {"b": "x"}, "x lacks 'a'"),
    (Told, {"a": 1, "b": 2}, "x.b is 2, and should be a text"),
    (Annotated[dict[str, int], Filled()], {}, "x is {}, and should be something"),
    (Inner, {"number": 4, "words": []}, "x.number is 4, and should be a number from 1 to 3"),
    (Inner, {"number": 1}, "x lacks 'words'"),
    (Inner, {"number": 1, "words": [], "more": 1}, "x has no field 'more'"),
    (Inner, 3, "x is 3, and should be an object"),
]


@pytest.mark.parametrize(("kind", "value", "words"), BAD)
def test_what_is_not_is_told_with_its_place(kind: Any, value: Any, words: str) -> None:
    with pytest.raises(TargetError) as found:
        parse_value(kind, value, "x")
    assert words in str(found.value)
