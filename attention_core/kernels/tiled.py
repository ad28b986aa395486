"""Attention over blocks of keys with an online softmax: the same function, in memory independent of n_kv.

One pass keeps, per query, the largest score so far, the sum of exponentials and the weighted sum of values.
"""

from __future__ import annotations

from typing import Literal, overload

import torch
from jaxtyping import Float
from torch import Tensor

from attention_core.kernels.arguments import Problem, check_dropout, prepare
from attention_core.kernels.dot_product import masked_scores
from attention_core.kernels.nonfinite import weighted_sum


def online_softmax(
    problem: Problem, block_size: int, dropout_p: float = 0.0
) -> tuple[Float[Tensor, "*#batch n_q d_v"], Float[Tensor, "*batch n_q"]]:
    """(out, lse) of a checked problem, one block of keys at a time.

    With m the largest score so far: l <- e^(m - m') l + sum_j e^(s_j - m'), and likewise the weighted sum.
    No exponent is ever positive, so nothing overflows; m cancels in the result, so it needs no gradient.
    """
    # An empty block gives zeros of the right shape that hang on the graph, also where n_kv = 0.
    empty = problem.part(slice(0, 0))
    scores = masked_scores(empty)
    total, acc = scores.sum(-1, keepdim=True), weighted_sum(scores, empty.attend, empty.value)
    largest = torch.full_like(total, -torch.inf)
    for start in range(0, problem.key.shape[-2], block_size):
        block = problem.part(slice(start, start + block_size))
        scores = masked_scores(block)
        new = torch.maximum(largest, scores.detach().amax(-1, keepdim=True))
        # A row without a key so far has m' = -inf, and -inf - (-inf) is NaN; any finite number will do.
        shift = torch.where(new == -torch.inf, 0.0, new)
        weights = torch.where(block.attend, torch.exp(scores - shift), 0.0)
        correction = torch.exp(largest - shift)
        kept = torch.dropout(weights, dropout_p, train=True) if dropout_p else weights
        total = total * correction + weights.sum(-1, keepdim=True)
        acc = acc * correction + weighted_sum(kept, block.attend, block.value)
        largest = new
    dead = ~problem.attend.any(-1, keepdim=True)
    total = torch.where(dead, 1.0, total)
    lse = torch.where(dead, -torch.inf, torch.where(dead, 0.0, largest) + total.log())
    return acc / total, lse.squeeze(-1)


# fmt: off
@overload
def tiled_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False, *,
    block_size: int = 64, return_lse: Literal[False] = False,
) -> Tensor: ...
@overload
def tiled_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False, *,
    block_size: int = 64, return_lse: Literal[True],
) -> tuple[Tensor, Tensor]: ...
# fmt: on
def tiled_attention(
    query: Float[Tensor, "*#batch n_q d"],
    key: Float[Tensor, "*#batch_kv n_kv d"],
    value: Float[Tensor, "*#batch_kv n_kv d_v"],
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    block_size: int = 64,
    return_lse: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """The function of `dot_product_attention`, computed over blocks of keys: o_i = sum_j w_ij v_j.

    Autograd keeps the blocks for the backward pass, so the memory is saved in inference alone.

    Args: block_size >= 1, a number of keys; the rest as `dot_product_attention`.
    Returns: out (*batch, H, n_q, d_v) in the query's dtype; with return_lse also the log-sum-exp
        (*batch, H, n_q), natural log, at least float32. Dead rows are 0 (lse -inf).
    Raises: ValueError for block_size < 1 and as `dot_product_attention`.
    Example:
        >>> tiled_attention(torch.ones(3, 2), torch.ones(3, 2), torch.eye(3), is_causal=True, block_size=2)[1]
        tensor([0.5000, 0.5000, 0.0000])

    Source: Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018), algorithm 3; Dao et
        al., "FlashAttention" (2022), algorithm 1, without its blocks of queries.
    """
    check_dropout(dropout_p)
    if block_size < 1:
        raise ValueError(f"block_size must be at least 1, got {block_size}")
    problem = prepare(query, key, value, attn_mask, is_causal, scale, enable_gqa)
    out, lse = online_softmax(problem, block_size, dropout_p)
    return (out.to(query.dtype), lse) if return_lse else out.to(query.dtype)
