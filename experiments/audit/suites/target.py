"""The function that all suites of this folder test: attention with the arguments of torch's own, in plain torch."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """softmax(scale Q K^T + mask) V; rows without a key are zeros, causality starts at the first query and key."""
    heads, kv_heads = query.shape[-3], key.shape[-3]
    if heads != kv_heads:
        if not enable_gqa or heads % kv_heads:
            raise ValueError("query heads are not a multiple of key heads, or enable_gqa is off")
        key, value = (x.repeat_interleave(heads // kv_heads, -3) for x in (key, value))
    wide = torch.promote_types(query.dtype, torch.float32)
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = factor * (query.to(wide) @ key.to(wide).mT)
    if attn_mask is not None:
        masked = attn_mask.dtype == torch.bool
        scores = scores.masked_fill(~attn_mask, -math.inf) if masked else scores + attn_mask
    if is_causal:
        scores = scores.masked_fill(~torch.ones(scores.shape[-2:], dtype=torch.bool).tril(), -math.inf)
    dead = (scores == -math.inf).all(-1, keepdim=True)
    weights = torch.softmax(scores.masked_fill(dead, 0.0), -1).masked_fill(dead, 0.0)
    if dropout_p:
        weights = torch.nn.functional.dropout(weights, dropout_p)
    return (weights @ value.to(wide)).to(query.dtype)
