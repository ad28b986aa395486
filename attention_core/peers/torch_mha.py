"""torch's nn.MultiheadAttention with identity projections: attention on merged heads.

Its bool masks are True where the query may NOT attend, its head size sets the scale, and query, key and value
have one head size.
"""

from __future__ import annotations

import torch
from torch import Tensor

from attention_core.peers.nan_products import leave_out_bfloat16


def identity_module(heads: int, width: int, like: Tensor) -> torch.nn.MultiheadAttention:
    """A MultiheadAttention whose four projections copy: products with 0 and 1 are exact for finite inputs."""
    module = torch.nn.MultiheadAttention(
        width, heads, bias=False, batch_first=True, device=like.device, dtype=like.dtype
    )
    with torch.no_grad():
        eye = torch.eye(width, dtype=like.dtype, device=like.device)
        assert module.in_proj_weight is not None
        module.in_proj_weight.copy_(eye.repeat(3, 1))
        module.out_proj.weight.copy_(eye)
    return module.requires_grad_(False).eval()


def merge_heads(x: Tensor) -> Tensor:
    """(B, H, n, d) to (B, n, H d)."""
    return x.transpose(1, 2).flatten(2)


def attend_with(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, is_causal: bool, need_weights: bool
) -> tuple[Tensor, Tensor | None]:
    """The module's answer, heads apart again."""
    if attn_mask is not None and is_causal:
        raise NotImplementedError("to the module, is_causal is a hint that the mask is the causal one")
    B, H, n_q, d = query.shape
    if attn_mask is not None:
        attn_mask = attn_mask.expand(B, H, n_q, key.shape[2]).flatten(0, 1)
    elif is_causal:  # a hint to the module, which wants the mask as well
        attn_mask = torch.ones(n_q, key.shape[2], dtype=torch.bool, device=query.device).triu(1)
    module = identity_module(H, H * d, query)
    out, weights = module(
        merge_heads(query),
        merge_heads(key),
        merge_heads(value),
        attn_mask=attn_mask,
        is_causal=is_causal,
        need_weights=need_weights,
        average_attn_weights=False,
    )
    return out.unflatten(2, (H, d)).transpose(1, 2), weights


def mha(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False) -> Tensor:
    """MultiheadAttention without weights: the path through scaled_dot_product_attention."""
    return attend_with(query, key, value, attn_mask, is_causal, need_weights=False)[0]


def mha_weights(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False
) -> tuple[Tensor, Tensor | None]:
    """MultiheadAttention with the weights of every head: the path through baddbmm and softmax."""
    return attend_with(query, key, value, attn_mask, is_causal, need_weights=True)


leave_out_bfloat16(mha_weights)
