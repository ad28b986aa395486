"""Attention by plain matmuls in the inputs' dtype, a few hundred queries at a time: about twice the error, less time.

On processors with bfloat16 matmuls the two products run at the full rate of the machine; what it costs is that scores
and weights are rounded to the inputs' dtype, where a fused kernel keeps the scores in float32.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor

from attention_core.kernels.arguments import broadcast, check_mask_fits, check_shapes
from attention_core.kernels.dot_product import softmax_weights
from attention_core.kernels.fused import four_axes, mask_of_four_axes

ROWS = 256


def half_accuracy_attention(
    query: Float[Tensor, "*#batch n_q d"],
    key: Float[Tensor, "*#batch_kv n_kv d"],
    value: Float[Tensor, "*#batch_kv n_kv d_v"],
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    rows: int = ROWS,
) -> Float[Tensor, "*#batch n_q d_v"]:
    """The function of `dot_product_attention` with every step rounded to the inputs' dtype: o_i = sum_j w_ij v_j.

    For bfloat16 on the CPU, where no value may be late and the second digit may be wrong by one more: the error of a
    score of size s is 2^-9 s, of a weight as much again. In float32 it is neither faster nor less accurate.
    Gradients of chunks and heads are added in float32.

    Args: as `dot_product_attention`, without dropout; rows >= 1, how many queries are computed together.
    Returns: (*batch, H, n_q, d_v) in the query's dtype; rows without a key are 0.
    Raises: ValueError as `dot_product_attention`, and for rows < 1.
    Example:
        >>> x = torch.ones(2, 4, dtype=torch.bfloat16)
        >>> half_accuracy_attention(x, x, x).dtype
        torch.bfloat16

    Source: Rabe and Staats, "Self-attention Does Not Need O(n^2) Memory" (2021), section 2, by queries alone.
    """
    check_shapes(query, key, value, enable_gqa)
    if attn_mask is not None:
        check_mask_fits(attn_mask, query, key, enable_gqa)
    if rows < 1:
        raise ValueError(f"rows must be at least 1, got {rows}")
    H = query.shape[-3] if query.ndim > 2 else 1
    batch = broadcast(query.shape[:-3], key.shape[:-3], value.shape[:-3]) or ()
    (n_q, d), (n_kv, d_v) = query.shape[-2:], value.shape[-2:]
    scale = (1.0 / math.sqrt(d) if d else 1.0) if scale is None else scale
    group = H // key.shape[-3] if query.ndim > 2 and key.shape[-3] else 1
    # Keys and values are rounded back for each chunk: autograd then adds the gradients of chunks and heads in float32.
    wide = torch.promote_types(query.dtype, torch.float32)
    low = key.dtype, value.dtype
    four = four_axes(query, batch), four_axes(key.to(wide), batch), four_axes(value.to(wide), batch)
    mask = None
    if attn_mask is not None:
        mask = mask_of_four_axes(attn_mask, batch).expand(four[0].shape[0], H, n_q, n_kv)
    heads = []
    for b in range(four[0].shape[0]):
        for h in range(H):
            one = four[0][b, h], four[1][b, h // group], four[2][b, h // group]
            heads.append(_head(*one, None if mask is None else mask[b, h], is_causal, scale, rows, low))
    out = torch.stack(heads) if heads else four[0].new_zeros(0, n_q, d_v)
    return out.reshape(*batch, *query.shape[-3:-1], d_v)


def _head(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    is_causal: bool,
    scale: float,
    rows: int,
    low: tuple[torch.dtype, torch.dtype],
) -> Tensor:
    """One head: (n_q, d), (n_kv, d), (n_kv, d_v), a chunk of queries after the other; low: dtypes of both products."""
    parts = []
    for start in range(0, max(len(query), 1), rows):
        chunk = query[start : start + rows] * scale
        # Later keys than the last of these queries are attended by none of them.
        seen = min(start + len(chunk), len(key)) if is_causal else len(key)
        scores = chunk @ key[:seen].to(low[0]).mT
        if mask is None and not is_causal and seen:
            parts.append(scores.softmax(-1) @ value.to(low[1]))
            continue
        attend = torch.ones(len(chunk), seen, dtype=torch.bool, device=query.device)
        attend = attend.tril(start) if is_causal else attend
        if mask is not None:
            part = mask[start : start + rows, :seen]
            attend = attend & (part if part.dtype == torch.bool else part != -torch.inf)
            scores = scores if part.dtype == torch.bool else scores + part.to(scores.dtype)
        weights = softmax_weights(scores.masked_fill(~attend, -torch.inf), attend)
        parts.append(weights @ value[:seen].to(low[1]))
    return torch.cat(parts)
