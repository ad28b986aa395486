"""attention_core.kernels.arguments: the normal form of a call. What it refuses is tabled in test_dot_product.py."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_core.kernels.arguments import attended_pairs, broadcast, prepare


def test_mask_and_causal_together_mean_both() -> None:
    mask = torch.tensor([[False, True, True], [True, False, True]])
    both = attended_pairs(2, 3, mask, True, torch.device("cpu"))
    assert both.tolist() == [[False, False, False], [True, False, False]]
    assert attended_pairs(2, 3, None, True, torch.device("cpu")).tolist() == [
        [True, False, False],
        [True, True, False],
    ]


def test_only_minus_infinity_forbids() -> None:
    bias = torch.tensor([0.0, -1e9, -float("inf"), torch.finfo(torch.float32).min])
    assert attended_pairs(1, 4, bias, False, torch.device("cpu")).tolist() == [[True, True, False, True]]


def test_heads_are_expanded_and_the_scale_is_that_of_the_head_size() -> None:
    q, k = torch.zeros(6, 5, 16), torch.arange(3.0)[:, None, None].expand(3, 7, 16)
    problem = prepare(q, k, k, enable_gqa=True)
    assert problem.key[:, 0, 0].tolist() == [0, 0, 1, 1, 2, 2]
    assert problem.scale == 0.25
    assert prepare(q[..., :0], q[..., :0], q).scale == 1.0
    assert prepare(q.bfloat16(), q.bfloat16(), q.bfloat16()).query.dtype == torch.float32


def test_a_part_takes_its_keys_its_columns_and_a_bias_that_is_one_column_whole() -> None:
    q, k = torch.zeros(2, 4), torch.arange(5.0)[:, None].expand(5, 4)
    for width in (1, 5):
        part = prepare(q, k, k, torch.arange(2.0 * width).reshape(2, width), is_causal=True).part(slice(1, 3))
        assert part.key[:, 0].tolist() == part.value[:, 0].tolist() == [1, 2]
        assert part.attend.tolist() == [[False, False], [True, False]]
        assert part.bias is not None
        assert part.bias.tolist() == ([[0], [1]] if width == 1 else [[1, 2], [6, 7]])


def test_broadcast_says_none_where_shapes_do_not_fit() -> None:
    assert broadcast((2, 1), (3,)) == (2, 3)
    assert broadcast((2, 2), (3,)) is None


@given(st.lists(st.lists(st.integers(0, 3), max_size=4), min_size=1, max_size=3))
def test_broadcast_is_numpys(shapes: list[list[int]]) -> None:
    try:
        wanted = np.broadcast_shapes(*map(tuple, shapes))
    except ValueError:
        wanted = None
    assert broadcast(*shapes) == wanted
