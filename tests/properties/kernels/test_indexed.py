"""attention_core.kernels.indexed: what it refuses and reads; the laws of its contract are in the suite."""

from __future__ import annotations

import pytest
import torch

from attention_core.kernels.indexed import indexed_attention


@pytest.mark.parametrize("index", [-2, 3])
def test_indices_that_name_no_key_are_refused(index: int) -> None:
    x = torch.ones(1, 1, 3, 1)
    with pytest.raises(ValueError, match="an index is -1 or the number of one of the 3 keys"):
        indexed_attention(x, x, x, torch.full((1, 1, 3, 1), index))


def test_heads_that_do_not_divide_are_refused() -> None:
    x = torch.ones(1, 3, 2, 1)
    with pytest.raises(ValueError, match="2 key heads do not divide 3 query heads"):
        indexed_attention(x, x[:, :2], x[:, :2], torch.zeros(1, 2, 2, 1, dtype=torch.long))


def test_keys_that_are_not_named_are_not_read() -> None:
    x = torch.ones(1, 2, 2, 1)
    value = torch.tensor([1.0, 3.0, torch.nan])[None, None, :, None]
    rows = torch.tensor([[[[0, 1], [-1, 1]]]])
    out = indexed_attention(x, torch.ones(1, 1, 3, 1), value, rows)
    assert out[0, 0].flatten().tolist() == out[0, 1].flatten().tolist() == [2.0, 3.0]


def test_a_call_without_queries_is_empty() -> None:
    x = torch.ones(1, 1, 2, 3)
    assert indexed_attention(x[:, :, :0], x, x, torch.zeros(1, 1, 0, 2, dtype=torch.long)).shape == (1, 1, 0, 3)
