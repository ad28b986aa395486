"""attention_core.kernels.tree: what it refuses, and a path alone; the laws of its contract are in the suite."""

from __future__ import annotations

import pytest
import torch

from attention_core.kernels.tree import tree_attention, tree_mask


@pytest.mark.parametrize("parents", [[[0]], [[-1, 1]], [[-2]]])
def test_parents_come_before_their_children(parents: list[list[int]]) -> None:
    with pytest.raises(ValueError, match="a parent is -1 or the number of a token before its child"):
        tree_mask(torch.tensor(parents))


@pytest.mark.parametrize(("parents", "ends"), [([[-1]], [1]), ([[-1, 0]], [2]), ([[-1, 0]], [-1]), ([[-1, 0]], [1, 1])])
def test_trees_that_do_not_fit_are_refused(parents: list[list[int]], ends: list[int]) -> None:
    x = torch.ones(1, 1, 3, 1)
    with pytest.raises(ValueError, match="2 draft tokens after"):
        tree_attention(x[:, :, :2], x, x, torch.tensor(parents), context_lens=torch.tensor(ends))


def test_a_path_has_the_rows_that_it_has_alone() -> None:
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, 2, n, 4, generator=generator, dtype=torch.float64) for n in (5, 8, 8))
    out = tree_attention(q, k, v, torch.tensor([[-1, 0, 0, 2, 1]]))
    path = torch.tensor([0, 2, 3])
    keys = torch.cat([torch.arange(3), 3 + path])
    alone = tree_attention(q[:, :, path], k[:, :, keys], v[:, :, keys], torch.tensor([[-1, 0, 1]]))
    torch.testing.assert_close(out[:, :, path], alone)


def test_a_call_without_draft_tokens_is_empty() -> None:
    x = torch.ones(1, 1, 2, 3)
    assert tree_attention(x[:, :, :0], x, x, torch.zeros(1, 0, dtype=torch.long)).shape == (1, 1, 0, 3)
