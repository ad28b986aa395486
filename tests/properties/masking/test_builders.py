"""attention_core.masking.builders: every mask as its set of pairs, enumerated pair by pair."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_core import masking
from attention_core.masking import causal, padding, prefix, segments, sliding_window
from tests.properties.mask_tables import ALIGN, SETTINGS, table

SIZE = st.integers(0, 7)


def offset(n_q: int, n_kv: int, align: str) -> int:
    return {"top_left": 0, "bottom_right": n_kv - n_q}[align]


@SETTINGS
@given(SIZE, SIZE, ALIGN, st.integers(1, 8), st.integers(0, 8))
def test_causal_window_and_prefix_are_their_sets(n_q: int, n_kv: int, align: Any, W: int, P: int) -> None:
    o = offset(n_q, n_kv, align)
    cases = [
        (causal(align), masking.causal_mask(n_q, n_kv, align), lambda i, j: j <= i + o),
        (
            sliding_window(W, align),
            masking.sliding_window_mask(n_q, n_kv, W, align),
            lambda i, j: i + o - W < j <= i + o,
        ),
        (prefix(P, align), masking.prefix_mask(n_q, n_kv, P, align), lambda i, j: j < P or j <= i + o),
    ]
    for mask, built, allows in cases:
        dense = mask.dense(n_q, n_kv)
        assert (dense.dtype, dense.shape) == (torch.bool, (n_q, n_kv))
        assert dense.tolist() == table(n_q, n_kv, allows), mask
        assert torch.equal(dense, built)


@SETTINGS
@given(SIZE, SIZE, ALIGN, st.integers(-1, 8), st.integers(-1, 8))
def test_a_window_of_two_sides_is_its_set(n_q: int, n_kv: int, align: Any, left: int, right: int) -> None:
    o, mask = offset(n_q, n_kv, align), masking.window(left, right, align)
    low, high = (99 if side < 0 else side for side in (left, right))
    assert mask.dense(n_q, n_kv).tolist() == table(n_q, n_kv, lambda i, j: i + o - low <= j <= i + o + high)
    extent, keys = mask.extent(n_q, n_kv), torch.arange(n_kv)
    inside = (extent.first[:, None] <= keys) & (keys < extent.end[:, None])
    assert extent.exact and torch.equal(inside, mask.dense(n_q, n_kv))


@pytest.mark.parametrize("W", [1, 2, 3, 5])
def test_a_window_holds_exactly_w_keys_in_the_interior(W: int) -> None:
    counts = sliding_window(W).dense(11, 11).sum(-1).tolist()
    assert counts == [min(i + 1, W) for i in range(11)]


@SETTINGS
@given(st.data())
def test_padding_and_segments_are_their_sets_per_sequence(data: st.DataObject) -> None:
    n_q, n_kv, B = data.draw(SIZE), data.draw(SIZE), data.draw(st.integers(1, 3))
    lengths = data.draw(st.lists(st.integers(0, n_kv), min_size=B, max_size=B))
    dense = padding(torch.tensor(lengths)).dense(n_q, n_kv)
    assert dense.shape == (B, 1, n_q, n_kv)
    for b in range(B):
        assert dense[b, 0].tolist() == table(n_q, n_kv, lambda i, j, b=b: j < lengths[b])
    assert torch.equal(dense, masking.padding_mask(n_q, n_kv, lengths))
    # bottom_right places the queries at the last keys, so there are at least as many keys.
    align: Any = data.draw(ALIGN) if n_kv >= n_q else "top_left"
    n, o = max(n_q, n_kv) + data.draw(st.integers(0, 2)), offset(n_q, n_kv, align)
    ids = data.draw(st.lists(st.lists(st.integers(0, 2), min_size=n, max_size=n), min_size=B, max_size=B))
    dense = segments(torch.tensor(ids, dtype=torch.int64).reshape(B, n), align).dense(n_q, n_kv)
    assert dense.shape == (B, 1, n_q, n_kv)
    for b in range(B):
        assert dense[b, 0].tolist() == table(n_q, n_kv, lambda i, j, b=b: ids[b][i + o] == ids[b][j])
    assert torch.equal(
        dense, masking.segments_mask(n_q, n_kv, torch.tensor(ids, dtype=torch.int64).reshape(B, n), align)
    )
