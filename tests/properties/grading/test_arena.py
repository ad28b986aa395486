"""Shared memory: both sides see the same arrays, poison shows what was never written and what was overrun."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_core.grading.arena import GAP, Arena, Field

FIELDS = [
    Field("query", "float32", (1, 3, 5, 7)),
    Field("key", "bfloat16", (1, 3, 5, 7), (0, 2, 1, 3)),
    Field("out", "float32", (3, 5), is_output=True),
]


@pytest.fixture
def arena() -> Arena:
    made = Arena(FIELDS)
    made.forget()
    return made


def values() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        "query": rng.standard_normal((1, 3, 5, 7)).astype("<f4"),
        "key": rng.integers(0, 2**15, (1, 3, 5, 7)).astype("<u2"),
    }


def test_both_sides_see_one_memory(arena: Arena) -> None:
    made = Arena(FIELDS)
    other = Arena([Field.from_json(field.to_json()) for field in FIELDS], made.path)
    made.forget()
    made.write(values())
    other.view("out")[...] = 2.0
    for name, value in values().items():
        assert (other.view(name) == value).all()
    assert (made.read()["out"] == 2.0).all()


def test_a_field_lies_in_its_order(arena: Arena) -> None:
    arena.write(values())
    start, size = arena.start("key"), FIELDS[1].bytes
    there = arena.bytes[start : start + size].view("<u2").reshape(1, 5, 3, 7)
    assert (there == values()["key"].transpose(0, 2, 1, 3)).all()


def test_outputs_begin_as_poison(arena: Arena) -> None:
    arena.view("out")[...] = 1.0
    arena.write(values())
    assert np.isnan(arena.read()["out"]).all() and arena.is_unwritten("out")
    arena.view("out")[0, 0] = 1.0
    assert not arena.is_unwritten("out")


def test_a_changed_input_is_named(arena: Arena) -> None:
    arena.write(values())
    assert arena.find_change(values()) == ""
    arena.view("key")[0, 2, 4, 6] ^= 1
    assert arena.find_change(values()) == "key"


@given(field=st.integers(0, 2), before=st.booleans(), distance=st.integers(0, 100))
def test_a_store_beside_an_array_is_seen(field: int, before: bool, distance: int) -> None:
    arena = Arena(FIELDS)
    arena.forget()
    arena.write(values())
    assert arena.find_overrun() == ""
    name = FIELDS[field].name
    start, end = arena.start(name), arena.start(name) + FIELDS[field].bytes
    arena.bytes[start - 1 - distance if before else end + distance] = 0
    assert arena.find_overrun() != ""


def test_arrays_lie_apart(arena: Arena) -> None:
    ends = [arena.start(field.name) + field.bytes for field in FIELDS]
    assert all(start - end >= GAP for end, start in zip(ends, arena.starts[1:], strict=False))
