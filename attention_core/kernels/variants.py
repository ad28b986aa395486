"""Attention whose weights are not one softmax: sigmoid attention, and the difference of two maps."""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attention_core.kernels.dot_product import dot_product_attention


def sigmoid_attention(
    query: Float[Tensor, "B H n_q d"],
    key: Float[Tensor, "B H_kv n_kv d"],
    value: Float[Tensor, "B H_kv n_kv d_v"],
    attn_mask: Bool[Tensor, "n_q n_kv"] | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    bias: float | Float[Tensor, ""] | None = None,
) -> Float[Tensor, "B H n_q d_v"]:
    """Weigh every key by itself: o_i = sum_j sigma(scale q_i . k_j + bias) v_j.

    Args: attn_mask, True where a pair is attended; is_causal, later keys are left out, counting from the first; scale,
        None = 1/sqrt(d); bias, None = -log n_kv. Query heads share key heads one group after the other.
    Returns: (B, H, n_q, d_v) in the query's dtype, computed in float32 at least; rows without a key are 0.
    Raises: ValueError where key and value differ in number, or heads cannot be shared.
    Example:
        >>> x = torch.zeros(1, 1, 2, 1)
        >>> sigmoid_attention(x, x, x + 3.0, bias=0.0).flatten()
        tensor([3., 3.])

    Source: Ramapuram et al., "Theory, Analysis, and Best Practices for Sigmoid Self-Attention" (2024), equation 3.
    """
    if key.shape[2] != value.shape[2]:
        raise ValueError(f"{key.shape[2]} keys have {value.shape[2]} values")
    wide, n_kv = torch.promote_types(query.dtype, torch.float32), key.shape[2]
    keys, values = (share_heads(x.to(wide), query.shape[1]) for x in (key, value))
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    shift = -math.log(max(n_kv, 1)) if bias is None else bias
    weights = (query.to(wide) @ keys.mT * factor + shift).sigmoid()
    if is_causal:
        weights = weights.tril()
    if attn_mask is not None:
        weights = weights.masked_fill(~attn_mask, 0.0)
    return (weights @ values).to(query.dtype)


def share_heads(x: Float[Tensor, "B H_kv n d"], heads: int) -> Float[Tensor, "B H n d"]:
    """Repeat every key head, or value head, for the query heads that share it.

    Raises: ValueError where their number does not divide that of the query heads.
    """
    if x.shape[1] == heads:
        return x
    if not x.shape[1] or heads % x.shape[1]:
        raise ValueError(f"{heads} query heads cannot share {x.shape[1]} key heads")
    return x.repeat_interleave(heads // x.shape[1], 1)


def differential_attention(
    q1: Float[Tensor, "B H n_q d"],
    k1: Float[Tensor, "B H_kv n_kv d"],
    q2: Float[Tensor, "B H n_q d"],
    k2: Float[Tensor, "B H_kv n_kv d"],
    v: Float[Tensor, "B H_kv n_kv d_v"],
    lam: float | Float[Tensor, ""],
    attn_mask: Bool[Tensor, "n_q n_kv"] | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> Float[Tensor, "B H n_q d_v"]:
    """Subtract one map of attention from another: o = softmax(Q1 K1^T) V - lam softmax(Q2 K2^T) V.

    Args: q1, k1 and q2, k2, of the two maps; lam, lambda of the second; the rest as in `sigmoid_attention`.
    Returns: (B, H, n_q, d_v) in the dtype of q1, computed in float32 at least; rows without a key are 0.
    Raises: ValueError where shapes contradict each other.
    Example:
        >>> x = torch.zeros(1, 1, 2, 1)
        >>> differential_attention(x, x, x, x, x + 4.0, 0.25).flatten()
        tensor([3., 3.])

    Source: Ye et al., "Differential Transformer" (2024), equation 1. The norm of a head that follows it there, and how
        lambda is learned, are the caller's.
    """
    wide = torch.promote_types(q1.dtype, torch.float32)
    keys, others, values = (share_heads(x.to(wide), q1.shape[1]) for x in (k1, k2, v))
    first, second = (
        dot_product_attention(q.to(wide), k, values, attn_mask, is_causal=is_causal, scale=scale)
        for q, k in ((q1, keys), (q2, others))
    )
    return (first - lam * second).to(q1.dtype)
