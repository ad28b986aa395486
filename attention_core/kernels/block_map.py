"""Attention in the blocks that a map allows: for each row of blocks the keys of its blocks alone are gathered."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attention_core.kernels.dot_product import dot_product_attention


def block_map_attention(
    query: Float[Tensor, "B H n_q d"],
    key: Float[Tensor, "B H_kv n_kv d"],
    value: Float[Tensor, "B H_kv n_kv d_v"],
    block_map: Bool[Tensor, "B_map H_map rows columns"],
    *,
    q_block: int = 64,
    k_block: int = 64,
    is_causal: bool = False,
    scale: float | None = None,
) -> Float[Tensor, "B H n_q d_v"]:
    """Attend where block_map[b, h, i // q_block, j // k_block] holds, to the keys of those blocks alone.

    Args: block_map, one of 1 head or sequence counts for all; q_block, k_block: queries and keys of a block, the last
        may be shorter; is_causal: of these pairs those with j <= i; scale, None = 1/sqrt(d). H_kv may divide H.
    Returns: (B, H, n_q, d_v) in the query's dtype; rows without a key are 0. Blocks that no head attends in a row of
        blocks are not read for it.
    Raises: ValueError where the map does not fit the arrays, or shapes contradict each other.
    Example:
        >>> x = torch.tensor([1.0, 2.0, 4.0])[None, None, :, None]
        >>> blocks = torch.eye(2, dtype=torch.bool)[None, None]
        >>> block_map_attention(x, 0 * x, x, blocks, q_block=2, k_block=2).flatten()
        tensor([1.5000, 1.5000, 4.0000])

    Source: Child et al., "Sparse Transformers" (2019), section 5.5; derivations/features.md (block-map).
    """
    n_q, n_kv = query.shape[2], key.shape[2]
    fits = all(a in (1, b) for a, b in zip(block_map.shape[:2], query.shape[:2], strict=True))
    if q_block < 1 or k_block < 1 or not fits or block_map.shape[2:] != (-(-n_q // q_block), -(-n_kv // k_block)):
        raise ValueError(
            f"a map {tuple(block_map.shape)} does not fit {tuple(query.shape)} queries and {n_kv} keys in blocks of "
            f"{q_block} and {k_block}"
        )
    keys, outs = torch.arange(n_kv, device=key.device), []
    for row, start in enumerate(range(0, n_q, q_block)):
        seen = block_map[:, :, row].repeat_interleave(k_block, -1)[..., :n_kv]
        used = keys[seen.any(0).any(0)]
        queries = torch.arange(start, min(start + q_block, n_q), device=key.device)
        pairs = seen[:, :, None, used]
        if is_causal:
            pairs = pairs & (used <= queries[:, None])
        q, k, v = query[:, :, queries], key[:, :, used], value[:, :, used]
        outs.append(dot_product_attention(q, k, v, pairs, scale=scale, enable_gqa=query.shape[1] != key.shape[1]))
    return torch.cat(outs, 2) if outs else query.new_zeros(*query.shape[:3], value.shape[-1])
