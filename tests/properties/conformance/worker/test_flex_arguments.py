"""Arguments of FlexAttention as the worker builds them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from attention_core import oracle
from attention_core.conformance.worker.exchange import FlexArgument, array
from attention_core.conformance.worker.flex_arguments import build_flex_argument

B, H, N_Q, N_KV, BLOCK = 2, 3, 5, 7, (2, 4)


def built(kind: str, table: Any) -> Any:
    return build_flex_argument(FlexArgument(kind, array(table, "bool"), BLOCK), torch.tensor(table))


@pytest.mark.parametrize("leading", [(B, H), (1, H), (B, 1), (1, 1)])
def test_a_function_looks_a_pair_up_in_its_table(leading: tuple[int, int]) -> None:
    table = np.random.default_rng(0).random((*leading, N_Q, N_KV)) < 0.5
    at = torch.meshgrid(*(torch.arange(n) for n in (B, H, N_Q, N_KV)), indexing="ij")
    expected = np.broadcast_to(table, (B, H, N_Q, N_KV))
    assert built("mask_mod", table)(*at).tolist() == expected.tolist()
    added = built("score_mod", table)(torch.full((B, H, N_Q, N_KV), 0.5), *at)
    assert added.tolist() == (expected + 0.5).tolist()


def test_a_block_mask_holds_the_blocks_of_its_pairs() -> None:
    blocks = np.random.default_rng(1).random((B, H, 3, 2)) < 0.5
    found = built("block_mask", oracle.block_pairs(blocks, N_Q, N_KV, BLOCK))
    assert found.BLOCK_SIZE == BLOCK and found.seq_lengths == (N_Q, N_KV)
    assert found.to_dense().bool().tolist() == blocks.tolist()
