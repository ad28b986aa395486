"""Kernels in Triton of flash-linear-attention, and the plain functions that it tests them with."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from attention_core.peers.triton_calls import table_of_angles


def parallel(query: Tensor, key: Tensor, value: Tensor, scale: float | None = None) -> Tensor:
    """flash-linear-attention's parallel attention, (B, n, H, d), always causal."""
    from fla.ops.attn.parallel import parallel_attn

    if query.shape[:2] != key.shape[:2] or key.shape[:3] != value.shape[:3] or query.shape[-1] != key.shape[-1]:
        raise ValueError("lengths, heads or head sizes differ")
    return parallel_attn(query, key, value, scale=scale)


def decoding(query: Tensor, key: Tensor, value: Tensor, scale: float | None = None) -> Tensor:
    """flash-linear-attention's decoding of one token: texts one after the other, (B, 1, H, d)."""
    from fla.ops.attn.decoding import attn_decoding_one_step

    (B, n, H, d), n_kv = query.shape, key.shape[1]
    if n != 1 or key.shape[:3] != value.shape[:3] or len(key) != B or d != key.shape[-1]:
        raise ValueError("one token a text, and one shape of keys and values")
    packed = (x.reshape(1, B * n_kv, *x.shape[2:]) for x in (key, value))
    ends = torch.arange(B + 1, device=query.device) * n_kv
    return attn_decoding_one_step(query.reshape(1, B, H, d), *packed, scale=scale, cu_seqlens=ends).view(B, 1, H, -1)


def rotary(x: Tensor, positions: Tensor) -> Tensor:
    """flash-linear-attention's rotary embedding, (B, n, H, d), with its gradient."""
    from fla.modules.rotary import rotary_embedding

    cos, sin = table_of_angles(x, positions)
    q = x.reshape(math.prod(x.shape[:-3]), *x.shape[-3:]).transpose(1, 2)
    half = x.shape[-1] // 2
    out: Tensor = rotary_embedding(q, cos[:, :half].contiguous(), sin[:, :half].contiguous())
    return out.transpose(1, 2).reshape(x.shape)


def naive_attention(
    query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False, scale: float | None = None
) -> Any:
    """The plain attention that its kernels are tested with, (B, n, H, d)."""
    from fla.ops.attn.naive import naive_parallel_attn

    return naive_parallel_attn(query, key, value, scale=scale, causal=is_causal)[0]


def naive_gla(q: Tensor, k: Tensor, v: Tensor, g: Tensor) -> Any:
    """The plain recurrence of gated linear attention."""
    from fla.ops.gla.naive import naive_recurrent_gla

    return naive_recurrent_gla(q, k, v, g)[0]


def naive_gated_delta(q: Tensor, k: Tensor, v: Tensor, beta: Tensor, g: Tensor) -> Any:
    """The plain recurrence of the gated delta rule."""
    from fla.ops.gated_delta_rule.naive import naive_recurrent_gated_delta_rule

    return naive_recurrent_gated_delta_rule(q, k, v, beta, g)[0]
