"""A structured mask as FlexAttention's block mask: which blocks of pairs are computed, and which pairs within them.

Both are read off the extent of the mask, two numbers a query, which the generated kernel looks up: masks that leave
each query one run of keys share one kernel, and no n_q x n_kv table is written. torch's `create_block_mask` writes one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask
from torch.nn.functional import pad

from attention_core.masking.checks import offset
from attention_core.masking.extent import Extent
from attention_core.masking.pieces import MOST_PLANS, keep
from attention_core.masking.structured import And, Mask, Or, Segments

BLOCK = 128
"""Queries and keys of a block; generated kernels for GPUs want multiples of it."""
Allows = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
"""(sequence, head, query, key) -> whether the query attends the key."""


def block_mask(mask: Mask, n_q: int, n_kv: int, device: torch.device, block: int = BLOCK) -> BlockMask:
    """The blocks of a mask, kept with it: full ones, where all pairs are attended, and those that ask for each pair.

    Args: n_q, n_kv >= 1; block, of queries and of keys. Returns: a BlockMask of one sequence, or of as many as the mask
        has, and one head. Memory: linear in n_q, beside one number for each pair of blocks.
    Raises: ValueError as `mask.dense`.
    Source: Dong et al., "Flex Attention" (2024), section 3.2.
    """
    known: dict[Any, BlockMask] = mask.__dict__.setdefault("_blocks", {})
    what = n_q, n_kv, device, block
    found = known.get(what)
    if found is None:
        with torch.inference_mode(False), torch.no_grad():
            extent = mask.extent(n_q, n_kv)
            if not extent.first.numel():
                raise ValueError("a mask of no sequence does not broadcast to any scores")
            some_blocks, full = (_list_blocks(some, device) for some in _touch_blocks(extent, n_q, n_kv, block))
            allows = predicate(mask, n_q, n_kv, device)
            found = BlockMask.from_kv_blocks(
                *some_blocks, *full, BLOCK_SIZE=block, mask_mod=allows, seq_lengths=(n_q, n_kv)
            )  # fmt: skip
        keep(known, what, found, MOST_PLANS)
    return found


def predicate(mask: Mask, n_q: int, n_kv: int, device: torch.device) -> Allows:
    """Which pairs a mask allows, as a function that FlexAttention compiles.

    Example:
        >>> from attention_core.masking import causal
        >>> at = torch.tensor
        >>> predicate(causal(), 4, 4, torch.device("cpu"))(at(0), at(0), at(1), at(2)).item()
        False
    """
    extent = mask.extent(n_q, n_kv)
    if extent.exact:
        return _within(extent, device)
    if isinstance(mask, And | Or):
        left, right = (predicate(side, n_q, n_kv, device) for side in (mask.left, mask.right))
        return _both(left, right) if isinstance(mask, And) else _either(left, right)
    if isinstance(mask, Segments):  # a document that goes on after another one
        return _same_segment(mask.ids.to(device), offset(n_q, n_kv, mask.align))
    return _write(mask.dense(n_q, n_kv, device))


def _touch_blocks(extent: Extent, n_q: int, n_kv: int, block: int) -> tuple[Tensor, Tensor]:
    """(B, blocks of queries, blocks of keys): where the mask is evaluated pair by pair, and where all are attended."""
    first, end = (x.reshape(1, -1) if x.ndim == 1 else x for x in (extent.first, extent.end))
    dead = first >= end
    first, end = first.masked_fill(dead, n_kv), end.masked_fill(dead, 0)
    begins = torch.arange(0, n_kv, block)
    ends = begins + block
    some = (begins < _most(end, 0, block)) & (ends > -_most(-first, -n_kv, block))
    # As torch has it, a block that reaches beyond the last query or the last key is not full.
    full = some & (begins >= _most(first, n_kv, block)) & (ends <= -_most(-end, 0, block))
    full &= extent.exact
    return some & ~full, full


def _most(x: Tensor, beyond: int, block: int) -> Tensor:
    """The largest number of each block of queries, (B, n_q) to (B, blocks, 1); `beyond` stands after the last query."""
    whole = pad(x, (0, -x.shape[1] % block), value=beyond)
    return whole.reshape(x.shape[0], -1, block).amax(-1, keepdim=True)


def _list_blocks(some: Tensor, device: torch.device) -> tuple[Tensor, Tensor]:
    """How many blocks of keys each block of queries has, and which, those first: (B, 1, ...)."""
    order = some.to(torch.uint8).argsort(dim=-1, descending=True, stable=True)
    number = some.sum(-1)
    return number[:, None].to(device, torch.int32), order[:, None].to(device, torch.int32)


def _within(extent: Extent, device: torch.device) -> Allows:
    first, end = (x.to(device, torch.int32).contiguous() for x in (extent.first, extent.end))
    if first.ndim == 2 and first.shape[0] == 1:
        first, end = first[0], end[0]
    if first.ndim == 1:
        return lambda b, h, i, j: (j >= first[i]) & (j < end[i])
    return lambda b, h, i, j: (j >= first[b, i]) & (j < end[b, i])


def _both(left: Allows, right: Allows) -> Allows:
    return lambda b, h, i, j: left(b, h, i, j) & right(b, h, i, j)


def _either(left: Allows, right: Allows) -> Allows:
    return lambda b, h, i, j: left(b, h, i, j) | right(b, h, i, j)


def _same_segment(ids: Tensor, start: int) -> Allows:
    if ids.shape[0] == 1:
        one = ids[0]
        return lambda b, h, i, j: one[i + start] == one[j]
    return lambda b, h, i, j: ids[b, i + start] == ids[b, j]


def _write(pairs: Tensor) -> Allows:
    pairs = pairs.reshape((1,) * (4 - pairs.ndim) + tuple(pairs.shape))
    B, H = pairs.shape[:2]
    return lambda b, h, i, j: pairs[b if B > 1 else 0, h if H > 1 else 0, i, j]
