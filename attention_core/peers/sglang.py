"""Kernels in Triton of SGLang, each loaded from its file alone."""

from __future__ import annotations

import torch
from torch import Tensor

from attention_core.peers.triton_calls import NONE, load_alone, slots_of


def merge(
    v_a: Tensor, s_a: Tensor, v_b: Tensor, s_b: Tensor, v_merged: Tensor | None = None, s_merged: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """SGLang's merge of two parts, (n, H, d) and (n, H)."""
    merged: tuple[Tensor, Tensor] = load_alone("sglang", "kernels/ops/attention/merge_state.py").merge_state_triton(
        v_a, s_a, v_b, s_b, v_merged, s_merged
    )
    return merged


def prefill(
    query: Tensor, key: Tensor, value: Tensor, cu_seqlens: Tensor, max_seqlen: int, causal: bool = False,
    softmax_scale: float | None = None,
) -> Tensor:  # fmt: skip
    """SGLang's attention of packed texts, for prefill and encoders."""
    module = load_alone("sglang", "kernels/ops/attention/prefill_attention.py", sglang__srt__utils=NONE)
    out = torch.empty_like(query)
    lengths = cu_seqlens.diff()
    module.context_attention_fwd(
        query, key, value, out, cu_seqlens[:-1], lengths, max_seqlen, is_causal=causal, sm_scale=softmax_scale
    )
    return out


def decode(
    query: Tensor, key_pages: Tensor, value_pages: Tensor, block_table: Tensor, cache_seqlens: Tensor,
    softmax_scale: float | None = None,
) -> Tensor:  # fmt: skip
    """SGLang's decoding of one token a text, query (B, H, d), with 8 splits of the keys."""
    (B, _, d), slots = query.shape, slots_of(block_table, key_pages.shape[1])
    lengths = cache_seqlens.tolist()
    indices = torch.cat([row[:n] for row, n in zip(slots, lengths, strict=True)]) if B else slots.flatten()
    scale = d**-0.5 if softmax_scale is None else softmax_scale
    return _decode(query, key_pages.flatten(0, 1), value_pages.flatten(0, 1), cache_seqlens, indices, scale)


def decode_latent(q_nope: Tensor, q_rope: Tensor, c_kv: Tensor, k_rope: Tensor, softmax_scale: float) -> Tensor:
    """SGLang's decoding of one token a text, (B, H, 1, r), on latents: values are a part of keys."""
    cache = torch.cat([c_kv, k_rope], -1)
    B, n = cache.shape[:2]
    query, keys = torch.cat([q_nope, q_rope], -1)[:, :, 0], cache.flatten(0, 1)[:, None]
    lengths, indices = _all_of(B, n, query)
    return _decode(query, keys, keys[..., : c_kv.shape[-1]], lengths, indices, softmax_scale)[:, :, None]


def _all_of(B: int, n: int, query: Tensor) -> tuple[Tensor, Tensor]:
    """The lengths of texts of n tokens each, one after the other, and where each of their tokens lies."""
    return torch.full((B,), n, dtype=torch.int32, device=query.device), torch.arange(B * n, device=query.device)


def _decode(
    query: Tensor, keys: Tensor, values: Tensor, lengths: Tensor, indices: Tensor, scale: float
) -> Tensor:  # fmt: skip
    """One call of the kernel: query (B, H, d), keys and values (tokens, H_kv, d), which of them are a text's."""
    score_mod = load_alone("sglang", "kernels/ops/attention/score_mod.py")
    stand_ins = {
        "sglang__kernels__ops__attention__score_mod": score_mod, "sglang__srt__environ": NONE,
        "sglang__srt__utils": NONE,
    }  # fmt: skip
    module = load_alone("sglang", "kernels/ops/attention/decode_attention.py", **stand_ins)
    (B, H, _), d_v, splits = query.shape, values.shape[-1], 8
    ends = torch.cat([lengths.new_zeros(1, dtype=torch.int32), lengths.cumsum(0, dtype=torch.int32)])
    out = query.new_empty(B, H, d_v)
    logits, lse = (query.new_empty(B, H, splits, *last, dtype=torch.float32) for last in ((d_v,), ()))
    parts = lengths.new_full((B,), splits, dtype=torch.int32)
    module.decode_attention_fwd(
        query, keys, values, out, ends, indices, logits, lse, parts, splits, scale, 1.0, 1.0,
    )  # fmt: skip
    return out
