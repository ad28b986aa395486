"""The exchange types.

Arrays as they cross to the code under test: encoding is exact, views hold the values and nothing else counts.
Everything here compares bits or whole numbers, so nothing is allowed to differ.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_core.conformance.budgets.budget import round_to
from attention_core.conformance.worker.exchange import FLOATS, STORAGE, Array, NDArray, array, c_strides, decode, encode

VIEWS = (
    "contiguous", "transposed", "heads_last", "rows_first", "heads_first", "sliced", "padded", "chunk", "offset", "expanded", "repeated",
    "broadcast", "one_row",
)  # fmt: skip


def seen(spec: Array) -> NDArray:
    """What a view shows of its base, by the definition of strides."""
    at = np.full(spec.shape, spec.offset)
    for axis, stride in enumerate(spec.strides):
        at += stride * np.arange(spec.shape[axis]).reshape([-1 if a == axis else 1 for a in range(len(spec.shape))])
    assert spec.shape == () or at.size == 0 or 0 <= at.min() <= at.max() < spec.base.size
    return decode(spec.base, spec.dtype)[at]


@pytest.mark.parametrize("dtype", FLOATS)
@given(data=st.data())
def test_numbers_survive_encoding(dtype: str, data: st.DataObject) -> None:
    drawn = np.array(data.draw(st.lists(st.floats(), max_size=6)), dtype=np.float64)
    values = round_to(drawn, dtype)
    stored = encode(values, dtype)
    assert stored.dtype == np.dtype(STORAGE[dtype])
    np.testing.assert_array_equal(decode(stored, dtype), values)


@pytest.mark.parametrize("dtype", FLOATS)
def test_unusual_numbers_survive_encoding(dtype: str) -> None:
    smallest = {"float64": 5e-324, "float32": 2.0**-149, "float16": 2.0**-24, "bfloat16": 2.0**-133}[dtype]
    values = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, smallest, -smallest])
    back = decode(encode(values, dtype), dtype)
    np.testing.assert_array_equal(back, values)
    np.testing.assert_array_equal(np.signbit(back[:4]), np.signbit(values[:4]))


def test_a_nan_without_upper_bits_stays_a_nan_in_bfloat16() -> None:
    hidden = np.array([0x7F800001], np.uint32).view(np.float32)
    assert np.isnan(hidden).all()
    assert np.isnan(decode(encode(hidden, "bfloat16"), "bfloat16")).all()


@pytest.mark.parametrize("dtype", ["bool", "int64", "int32", "uint8"])
def test_other_types_travel_as_they_are(dtype: str) -> None:
    values = np.array([0, 1, 1, 0])
    back = decode(encode(values, dtype), dtype)
    assert back.dtype == np.dtype(STORAGE[dtype])
    np.testing.assert_array_equal(back, values)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("shape", [(2, 3, 5, 7), (1, 1, 1, 1), (5, 7), (7,), (), (2, 0, 3)])
def test_a_view_shows_exactly_its_values(view: str, shape: tuple[int, ...]) -> None:
    values = np.arange(float(np.prod(shape, dtype=int))).reshape(shape)
    if view == "expanded" and values.ndim >= 3 and shape[0] > 0:
        values = np.broadcast_to(values[:1], shape)
    if view == "repeated":
        values = np.full_like(values, 3.0)
    spec = array(values, "float32", view)
    assert spec.shape == shape
    np.testing.assert_array_equal(seen(spec), values)


@pytest.mark.parametrize("view", ["sliced", "padded", "chunk", "offset"])
def test_around_a_view_stands_nan(view: str) -> None:
    spec = array(np.zeros((2, 3, 4)), "bfloat16", view)
    everything = decode(spec.base, "bfloat16")
    assert np.isnan(everything).sum() == everything.size - 24 > 0


@pytest.mark.parametrize(("axis", "strides"), [(0, (0, 20, 5, 1)), (1, (20, 0, 5, 1)), (2, (15, 5, 0, 1))])
def test_a_broadcast_view_has_no_stride_where_values_repeat(axis: int, strides: tuple[int, ...]) -> None:
    values = np.arange(120.0).reshape(2, 3, 4, 5)
    values = np.broadcast_to(values.take([0], axis), values.shape)
    spec = array(values, "float64", "broadcast")
    assert (spec.strides, spec.base.size) == (strides, 120 // values.shape[axis])
    np.testing.assert_array_equal(seen(spec), values)


def test_behind_the_one_row_of_a_view_is_room_for_all_of_other_numbers() -> None:
    values = np.broadcast_to(np.arange(6.0).reshape(2, 1, 3), (2, 4, 3))
    spec = array(values, "float32", "one_row")
    np.testing.assert_array_equal(seen(spec), values)
    everything = decode(spec.base, "float32").reshape(values.shape)
    assert np.isnan(everything[:, 1:]).all() and not np.isnan(everything[:, 0]).any()


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_is_what_its_name_says(view: str) -> None:
    spec = array(np.ones((2, 3, 4, 5)), "float64", view)
    plain = c_strides(spec.shape)
    assert plain == (60, 20, 5, 1)
    expected = {
        "contiguous": (plain, 0), "transposed": ((60, 20, 1, 4), 0), "heads_last": ((60, 5, 15, 1), 0),
        "sliced": ((120, 40, 10, 2), 0), "padded": ((3 * 7 * 7, 7 * 7, 7, 1), 5 + 3), "offset": (plain, 3),
        "expanded": ((0, 20, 5, 1), 0), "repeated": ((0, 0, 0, 0), 0), "rows_first": ((15, 5, 30, 1), 0),
        "heads_first": ((20, 40, 5, 1), 0), "chunk": ((180, 60, 15, 1), 5),
        "broadcast": ((0, 0, 0, 1), 0), "one_row": ((60, 20, 0, 1), 0),
    }  # fmt: skip
    assert (spec.strides, spec.offset) == expected[view]
    assert spec.is_plain == (view == "contiguous")
