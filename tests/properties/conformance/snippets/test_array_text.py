"""attention_core.conformance.snippets.array_text: arrays that repeat themselves are written as what they repeat."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_core.conformance.snippets.array_text import array_text, assignment, period_of, tile_of
from attention_core.conformance.worker.exchange import NDArray, array

HALF = np.vstack([np.hstack([np.eye(32)] * 2), np.zeros((32, 64))])
ARRAYS = {
    "an identity": np.eye(40)[None, None],
    "two identities over zeros in every slice": np.broadcast_to(HALF, (2, 4, 64, 64)),
    "numbers in turn": np.resize(np.array([1.0, 2.0, 3.0]), (2, 4, 64, 64)),
    "one row in every slice": np.broadcast_to(np.arange(9.0), (3, 2, 17, 9)),
    "NaN and numbers in turn": np.resize(np.array([np.nan, 2.0, -0.0]), (1, 1, 40, 3)),
    "a mask of lengths": np.broadcast_to(np.arange(40) < 23, (3, 1, 8, 40)),
}


def built(text: str) -> Any:
    space: dict[str, Any] = {}
    jax = "import jax.numpy as jnp\n" if "jnp." in text else ""
    exec(f"import torch, numpy as np\n{jax}from math import inf, nan\n{text}", space)
    return space["x"]


@pytest.mark.parametrize("library", ["torch", "numpy", "jax"])
@pytest.mark.parametrize("name", ARRAYS)
def test_patterns_are_short_and_give_the_array_back_bit_for_bit(name: str, library: str) -> None:
    if library == "jax":
        pytest.importorskip("jax")
    values = ARRAYS[name]
    text = array_text(array(values, "bool" if values.dtype == bool else "float32"), library)
    assert len(text) < 400 and "zlib" not in text
    x = np.asarray(built(f"x = {text}"))
    assert x.shape == values.shape
    assert x.tobytes() == values.astype(bool if values.dtype == bool else np.float32).tobytes()


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 3, 7]), st.sampled_from(["float32", "float16", "bool"]))
def test_arrays_that_nearly_repeat_themselves_come_back_bit_for_bit(seed: int, period: int, dtype: str) -> None:
    rng = np.random.default_rng(seed)
    values: NDArray = np.resize(rng.integers(0, 3, size=period).astype(float), (2, int(rng.integers(10, 30)), 6))
    if rng.random() < 0.5:
        values[1, -1, 3] += 1.0
    if rng.random() < 0.5:
        values[0, 3] = rng.integers(0, 3, size=6)
    values = values > 0 if dtype == "bool" else values
    x = built(assignment("x", array(values, dtype)))
    assert x.dtype == getattr(torch, dtype) and x.shape == values.shape
    assert np.array_equal(x.float().numpy(), values.astype(float))


def test_an_array_with_one_other_row_is_filled_and_that_row_set() -> None:
    values = np.zeros((2, 4, 64, 64))
    values[1, 2, 50] = np.random.default_rng(0).integers(0, 2, 64)
    line = assignment("x", array(values, "float32"), gradient=True)
    assert len(line) < 400
    x = built(line)
    assert x.requires_grad and x.is_leaf and np.array_equal(x.detach().numpy(), values)


@pytest.mark.parametrize("view", ["transposed", "heads_last", "rows_first", "heads_first", "sliced", "chunk", "offset"])
def test_views_on_a_base_with_few_numbers_are_short(view: str) -> None:
    values = np.zeros((2, 3, 9, 70))
    values[1, 2, 5, 60] = 1.0
    spec = array(values, "float32", view)
    line = assignment("x", spec)
    x = built(line)
    assert len(line) < 300 and x.stride() == spec.strides and x.storage_offset() == spec.offset
    assert np.array_equal(x.numpy(), values)


def test_what_does_not_repeat_has_no_pattern() -> None:
    values = np.random.default_rng(0).standard_normal((4, 50))
    block, times = tile_of(values)
    assert times == (1, 1) and block is not None and np.array_equal(block, values)
    assert period_of(values.reshape(-1), 64) is None
    assert period_of(np.array([0.0, -0.0] * 20), 64) == 2
