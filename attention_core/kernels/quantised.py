"""Attention to keys and values that are stored as int8 or float8 with scales, without a copy of them dequantised.

A scale of keys multiplies their scores, and a scale of values their weights: both are numbers of a token, so that
stored numbers enter the two products as they are.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

Scales = Float[Tensor, ""] | Float[Tensor, " H_kv"] | Float[Tensor, "B H_kv"] | Float[Tensor, "B H_kv blocks"]


def quantised_attention(
    query: Float[Tensor, "B H n_q d"],
    key: Shaped[Tensor, "B H_kv n_kv d"],
    value: Shaped[Tensor, "B H_kv n_kv d_v"],
    key_scale: Scales,
    value_scale: Scales,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    block: int = 1,
) -> Float[Tensor, "B H n_q d_v"]:
    """Attention to key_scale * key and value_scale * value.

    Args: key, value: int8 or float8; key_scale, value_scale: of all numbers (), of heads (H_kv,), of each sequence's
        heads (B, H_kv), or of blocks of tokens (B, H_kv, blocks); is_causal: the queries are the last tokens; scale:
        None = 1/sqrt(d); block: tokens of a block.
    Returns: (B, H, n_q, d_v) in the query's dtype. Two-byte queries are computed in float32.
    Raises: ValueError where shapes contradict each other.
    Example:
        >>> x = torch.tensor([[[[2], [4]]]], dtype=torch.int8)
        >>> quantised_attention(torch.zeros(1, 1, 1, 1), x, x, torch.tensor(0.5), torch.tensor(0.5)).item()
        1.5

    Source: derivations/quantised.md (scale-after, weight-after).
    """
    group, rest = divmod(query.shape[1], key.shape[1])
    if rest or key.shape[:-1] != value.shape[:-1] or query.shape[0] != key.shape[0] or query.shape[3] != key.shape[3]:
        shapes = ", ".join(str(tuple(x.shape)) for x in (query, key, value))
        raise ValueError(f"query is (B, H, n_q, d), key (B, H_kv, n_kv, d), value (B, H_kv, n_kv, d_v); got {shapes}")
    wide = torch.promote_types(query.dtype, torch.float32)
    q, k, v = (x.to(wide) for x in (query, key, value))
    n_q, n_kv = q.shape[2], k.shape[2]
    q = q.reshape(*k.shape[:2], group, n_q, q.shape[3]) * (q.shape[3] ** -0.5 if scale is None else scale)
    scores = torch.einsum("bhgic,bhjc->bhgij", q, k) * _spread(key_scale, n_kv, block).to(wide)
    if is_causal:
        later = torch.ones(n_q, n_kv, dtype=torch.bool, device=q.device).triu(n_kv - n_q + 1)
        scores = scores.masked_fill(later, -torch.inf)
    weights = scores.softmax(-1) * _spread(value_scale, n_kv, block).to(wide)
    return torch.einsum("bhgij,bhje->bhgie", weights, v).flatten(1, 2).to(query.dtype)


def _spread(scale: Tensor, n_kv: int, block: int) -> Tensor:
    """Scales as factors of scores (B, H_kv, group, n_q, n_kv)."""
    if scale.dim() < 3:
        return scale[..., None, None, None] if scale.dim() else scale
    return scale.repeat_interleave(block, 2)[:, :, None, None, :n_kv]
