"""attention_core.kernels.heads: where each feature goes, index by index, at distinct prime sizes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_core.kernels.heads import expand_kv_heads, merge_heads, split_heads

SIZES = st.permutations([1, 2, 3, 5]).map(tuple)
SETTINGS = settings(deadline=None, max_examples=24)


@SETTINGS
@given(SIZES)
def test_split_puts_feature_h_d_plus_c_of_token_n_into_head_h(sizes: tuple[int, ...]) -> None:
    B, n, H, d = sizes
    x = torch.arange(B * n * H * d).reshape(B, n, H * d).float()
    y = split_heads(x, H)
    assert y.shape == (B, H, n, d)
    for b, h, i, c in np.ndindex(B, H, n, d):
        assert y[b, h, i, c] == x[b, i, h * d + c]
    assert torch.equal(merge_heads(y), x)


@SETTINGS
@given(SIZES)
def test_merge_puts_the_heads_of_one_token_side_by_side(sizes: tuple[int, ...]) -> None:
    B, H, n, d = sizes
    y = torch.arange(B * H * n * d).reshape(B, H, n, d).float()
    x = merge_heads(y)
    assert x.shape == (B, n, H * d)
    for b, h, i, c in np.ndindex(B, H, n, d):
        assert x[b, i, h * d + c] == y[b, h, i, c]


@SETTINGS
@given(SIZES, st.integers(1, 3))
def test_each_key_head_serves_consecutive_query_heads(sizes: tuple[int, ...], group: int) -> None:
    B, H_kv, n, c = sizes
    x = torch.arange(B * H_kv * n * c).reshape(B, H_kv, n, c).float()
    y = expand_kv_heads(x, H_kv * group)
    assert y.shape == (B, H_kv * group, n, c)
    for h in range(H_kv * group):
        assert torch.equal(y[:, h], x[:, h // group])


BAD_CALLS = [
    (split_heads, (torch.zeros(2, 3, 7), 2), "7 features cannot be cut into 2 heads"),
    (split_heads, (torch.zeros(2, 3, 7), 0), "cannot be cut into 0 heads"),
    (split_heads, (torch.zeros(2, 3, 6), -2), "cannot be cut into -2 heads"),
    (split_heads, (torch.zeros(3, 6), 2), "axes"),
    (merge_heads, (torch.zeros(2, 3, 6),), "axes"),
    (expand_kv_heads, (torch.zeros(2, 3, 5, 7), 4), "4 query heads are not divisible by H_kv = 3"),
    (expand_kv_heads, (torch.zeros(2, 0, 5, 7), 4), "not divisible by H_kv = 0"),
    (expand_kv_heads, (torch.zeros(5, 7), 4), "head axis"),
]


@pytest.mark.parametrize(("function", "args", "words"), BAD_CALLS)
def test_sizes_that_do_not_fit_are_refused(function, args, words) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=words):
        function(*args)
