"""attention_core.kernels.block_map: what it refuses and reads; the laws of its contract are in the suite."""

from __future__ import annotations

import pytest
import torch

from attention_core.kernels.block_map import block_map_attention


@pytest.mark.parametrize(
    ("shape", "block"), [((1, 1, 2, 3), 2), ((1, 1, 3, 2), 2), ((2, 1, 2, 2), 2), ((1, 3, 2, 2), 2), ((1, 1, 2, 2), 0)]
)
def test_maps_that_do_not_fit_are_refused(shape: tuple[int, ...], block: int) -> None:
    x = torch.ones(1, 2, 3, 1)
    with pytest.raises(ValueError, match=r"a map \(.*\) does not fit \(1, 2, 3, 1\) queries and 3 keys in blocks of"):
        block_map_attention(x, x, x, torch.ones(shape, dtype=torch.bool), q_block=block, k_block=block or 1)


def test_blocks_that_no_head_attends_are_not_read() -> None:
    x = torch.ones(1, 2, 4, 1)
    value = torch.tensor([1.0, 3.0, torch.nan, torch.nan])[None, None, :, None].expand(1, 2, 4, 1)
    blocks = torch.tensor([[[[True, False], [False, False]]]])
    out = block_map_attention(x, x, value, blocks, q_block=3, k_block=2)
    assert out[0, 0].flatten().tolist() == out[0, 1].flatten().tolist() == [2.0, 2.0, 2.0, 0.0]


def test_a_call_without_queries_is_empty() -> None:
    x = torch.ones(1, 1, 2, 3)
    assert block_map_attention(x[:, :, :0], x, x, torch.ones(1, 1, 0, 1, dtype=torch.bool)).shape == (1, 1, 0, 3)
