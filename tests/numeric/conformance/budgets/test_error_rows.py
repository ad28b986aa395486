"""The helpers of error rows against plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from attention_core.conformance.budgets.error_rows import finite_part, rows_at


@pytest.mark.parametrize("shape", [(2, 3, 5, 4), (1, 1, 1, 1), (7, 2), (0, 3, 5, 4)])
def test_whole_rows_are_those_that_take_along_axis_takes(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape)
    index = rng.integers(shape[-2], size=(*shape[:-2], 6))
    assert np.array_equal(rows_at(x, index), np.take_along_axis(x, index[..., None], axis=-2))


def test_the_finite_part_is_the_array_itself_where_all_of_it_is_finite() -> None:
    x = np.array([1.0, -2.0])
    assert finite_part(x) is x
    assert finite_part(np.array([np.inf, np.nan, -1.0])).tolist() == [0.0, 0.0, -1.0]
