"""Triton kernels that other people ship, each as its library launches it, judged in Triton's interpreter.

Each function imports its library itself. An adapter only names arguments, moves axes and makes what a library's caller
makes for it (ends of texts, tables of sines); whatever it computes with queries, keys and values is the library's.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def conch_paged(
    query: Tensor, key_pages: Tensor, value_pages: Tensor, block_table: Tensor, cache_seqlens: Tensor,
    softmax_scale: float | None = None,
) -> Tensor:  # fmt: skip
    """conch's paged attention: one token a text, query (B, H, d)."""
    from conch.ops.attention.paged_attention import paged_attention

    return paged_attention(query, key_pages, value_pages, block_table, cache_seqlens, scale=softmax_scale)


def ends_of(query: Tensor) -> Tensor:
    """Where every text of (B, n, H, d) queries begins, one behind the other, and the end of the last."""
    B, n = query.shape[:2]
    return torch.arange(B + 1, dtype=torch.int32) * n


def conch_varlen(
    query: Tensor, key_pages: Tensor, value_pages: Tensor, block_table: Tensor, cache_seqlens: Tensor,
    causal: bool = False, softmax_scale: float | None = None,
) -> Tensor:  # fmt: skip
    """conch's attention of packed texts to keys in pages."""
    from conch.ops.attention.varlen_attention import varlen_attention

    out = varlen_attention(
        query.flatten(0, 1), key_pages, value_pages, ends_of(query), query.shape[1], cache_seqlens,
        int(cache_seqlens.max()) if len(cache_seqlens) else 0, block_table, causal=causal, scale=softmax_scale,
    )  # fmt: skip
    return out.view(query.shape)


def vllm_unified(
    query: Tensor, key_pages: Tensor, value_pages: Tensor, block_table: Tensor, cache_seqlens: Tensor,
    softmax_scale: float | None = None,
) -> Tensor:  # fmt: skip
    """vLLM's unified attention, as conch ships it; always causal."""
    from conch.third_party.vllm.unified_attention import unified_attention

    packed = query.flatten(0, 1).contiguous()
    out = torch.empty_like(packed)
    scale = query.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
    longest = int(cache_seqlens.max()) if len(cache_seqlens) else 0
    unified_attention(
        packed, key_pages, value_pages, out, ends_of(query), query.shape[1], cache_seqlens, longest, scale, True,
        (-1, -1), block_table, 0.0, None, None, None,
    )  # fmt: skip
    return out.view(query.shape)


def multiarch_flash(query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False) -> Tensor:
    """cuda-triton-multiarch's FlashAttention-2 of several heads."""
    from kernels.flash_attention_full import flash_attention_full_triton

    if query.shape != key.shape or key.shape != value.shape:
        raise ValueError("all tensors have one shape")
    return flash_attention_full_triton(query, key, value, causal=is_causal)


def multiarch_flash_v2(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """cuda-triton-multiarch's FlashAttention-2 of one head, (n, d)."""
    from kernels.flash_attention import flash_attention_triton

    if query.shape != key.shape or key.shape != value.shape:
        raise ValueError("all tensors have one shape")
    return flash_attention_triton(query.contiguous(), key.contiguous(), value.contiguous())


def multiarch_rows(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """cuda-triton-multiarch's attention with one program a row, (n, d)."""
    from kernels.attention import attention_triton

    if query.shape != key.shape or key.shape != value.shape:
        raise ValueError("all tensors have one shape")
    return attention_triton(query.contiguous(), key.contiguous(), value.contiguous())


def fla_parallel(query: Tensor, key: Tensor, value: Tensor, scale: float | None = None) -> Tensor:
    """flash-linear-attention's parallel attention, (B, n, H, d), always causal."""
    from fla.ops.attn.parallel import parallel_attn

    if query.shape[:2] != key.shape[:2] or key.shape[:3] != value.shape[:3] or query.shape[-1] != key.shape[-1]:
        raise ValueError("lengths, heads or head sizes differ")
    return parallel_attn(query, key, value, scale=scale)


def fla_decoding(query: Tensor, key: Tensor, value: Tensor, scale: float | None = None) -> Tensor:
    """flash-linear-attention's decoding of one token: texts one behind the other, (B, 1, H, d)."""
    from fla.ops.attn.decoding import attn_decoding_one_step

    (B, n, H, d), n_kv = query.shape, key.shape[1]
    if n != 1 or key.shape[:3] != value.shape[:3] or len(key) != B or d != key.shape[-1]:
        raise ValueError("one token a text, and one shape of keys and values")
    packed = (x.reshape(1, B * n_kv, *x.shape[2:]) for x in (key, value))
    ends = torch.arange(B + 1) * n_kv
    return attn_decoding_one_step(query.reshape(1, B, H, d), *packed, scale=scale, cu_seqlens=ends).view(B, 1, H, -1)


def table_of_angles(x: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
    """cos and sin of the angles of (c, c + d/2), each for every position, (n, d), in the dtype of x."""
    d = x.shape[-1]
    frequencies = 10000.0 ** (-torch.arange(0, d, 2).double() / d)
    angles = (positions[:, None].double() * frequencies).repeat(1, 2)
    return angles.cos().to(x.dtype), angles.sin().to(x.dtype)


def liger_rotary(x: Tensor, positions: Tensor) -> Tensor:
    """Liger's rotary embedding, which rotates queries and keys in place."""
    from liger_kernel.ops.rope import LigerRopeFunction

    cos, sin = table_of_angles(x, positions)
    q = x.reshape(math.prod(x.shape[:-3]), *x.shape[-3:])
    return LigerRopeFunction.apply(q.clone(), q.clone(), cos[None], sin[None])[0].view(x.shape)


def conch_rotary(x: Tensor, positions: Tensor) -> Tensor:
    """conch's rotary embedding, after vLLM's: (tokens, H d), in place."""
    from conch.ops.embedding.rotary_embedding import rotary_embedding

    (*batch, n, d), most = x.shape, int(positions.max()) + 1 if positions.numel() else 1
    cos, sin = table_of_angles(x, torch.arange(most))
    tokens = x.reshape(-1, n, d).transpose(0, 1).reshape(n, -1).clone()
    cache = torch.cat([cos[:, : d // 2], sin[:, : d // 2]], -1)
    rotated, _ = rotary_embedding(positions, tokens, tokens.clone(), d, cache)
    return rotated.view(n, -1, d).transpose(0, 1).reshape(*batch, n, d)
