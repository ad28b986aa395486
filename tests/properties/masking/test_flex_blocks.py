"""attention_core.masking.flex_blocks: block masks that hold exactly what a structured mask attends, kept with it."""

from __future__ import annotations

import pickle

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import examples

from attention_core.masking import Mask, causal, padding, prefix, segments, sliding_window
from attention_core.masking.flex_blocks import block_mask, predicate
from attention_core.masking.pieces import MOST_PLANS
from tests.properties.kernels.test_block_sparse import Largest
from tests.properties.mask_trees import SIZES, masks

CPU = torch.device("cpu")


def listed(number: torch.Tensor, which: torch.Tensor, nk: int) -> torch.Tensor:
    """What lists of blocks name, as bools (B, blocks of queries, blocks of keys)."""
    some = torch.zeros(*number.shape, nk, dtype=torch.bool)
    for at in torch.cartesian_prod(*(torch.arange(n) for n in number.shape)).tolist():
        some[(*at, which[tuple(at)][: int(number[tuple(at)])].long())] = True
    return some[:, 0]


@settings(deadline=None, max_examples=examples(300))
@given(st.data(), SIZES, st.integers(1, 9))
def test_blocks_hold_exactly_what_a_mask_attends(data: st.DataObject, sizes: tuple[int, int], block: int) -> None:
    n_q, n_kv = sizes
    mask = data.draw(masks(*sizes))
    dense = mask.dense(*sizes)
    pairs = dense.reshape(-1, n_q, n_kv)
    blocks = block_mask(mask, n_q, n_kv, CPU, block)
    nk = -(-n_kv // block)
    asked = listed(blocks.kv_num_blocks, blocks.kv_indices, nk)
    assert blocks.full_kv_num_blocks is not None
    assert blocks.full_kv_indices is not None
    full = listed(blocks.full_kv_num_blocks, blocks.full_kv_indices, nk)
    assert not (asked & full).any()
    for b, qb, kb in torch.cartesian_prod(*(torch.arange(n) for n in asked.shape)).tolist():
        here = pairs[b, qb * block : (qb + 1) * block, kb * block : (kb + 1) * block]
        assert not here.any() or asked[b, qb, kb] or full[b, qb, kb]
        # Torch masks no pair of a full block, also not beyond the lengths.
        assert not full[b, qb, kb] or (here.all() and here.shape == (block, block))
        if mask.extent(*sizes).exact and not here.any():
            assert not asked[b, qb, kb]
    allows = predicate(mask, n_q, n_kv, CPU)
    i, j = torch.arange(n_q)[:, None], torch.arange(n_kv)
    for b in range(pairs.shape[0]):
        assert torch.equal(allows(torch.tensor(b), torch.tensor(0), i, j).expand(n_q, n_kv), pairs[b])


def test_blocks_are_kept_with_the_mask_and_not_copied_with_it() -> None:
    mask = sliding_window(4)
    blocks = block_mask(mask, 64, 64, CPU, 16)
    assert block_mask(mask, 64, 64, CPU, 16) is blocks
    assert block_mask(mask, 64, 65, CPU, 16) is not blocks
    assert block_mask(mask, 64, 64, CPU, 32).BLOCK_SIZE == (32, 32)
    for n in range(100, 120):
        block_mask(mask, n, n, CPU, 16)
    assert len(mask.__dict__["_blocks"]) == MOST_PLANS
    assert pickle.loads(pickle.dumps(mask)).__dict__ == {"W": 4, "align": "top_left"}


def test_blocks_made_in_inference_mode_serve_outside() -> None:
    mask = sliding_window(4)
    with torch.inference_mode():
        blocks = block_mask(mask, 64, 64, CPU, 16)
    assert not blocks.kv_indices.is_inference()


def test_the_last_query_of_one_packed_sequence_asks_for_its_own_document() -> None:
    """Documents that lie in two runs are asked for pair by pair; the query stands at the last of five places."""
    allows = predicate(segments([[2, 1, 2, 1, 1]], "bottom_right"), 1, 5, CPU)
    zero = torch.tensor(0)
    assert allows(zero, zero, zero, torch.arange(5)).tolist() == [False, True, False, True, True]


@pytest.mark.parametrize("mask", [sliding_window(64), prefix(9), causal() & padding([99])])
def test_no_table_of_pairs_is_written(mask: Mask) -> None:
    """At n = 1,024 there are 2^20 pairs; lists of blocks of 128 queries have 64 numbers, extents 2,048."""
    with Largest() as seen:
        block_mask(mask, 1024, 1024, CPU)
    assert seen.numbers <= 8 * 1024
