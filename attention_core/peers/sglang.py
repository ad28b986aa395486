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
    score_mod = load_alone("sglang", "kernels/ops/attention/score_mod.py")
    stand_ins = {
        "sglang__kernels__ops__attention__score_mod": score_mod, "sglang__srt__environ": NONE,
        "sglang__srt__utils": NONE,
    }  # fmt: skip
    module = load_alone("sglang", "kernels/ops/attention/decode_attention.py", **stand_ins)
    (B, H, d), d_v, splits = query.shape, value_pages.shape[-1], 8
    slots, lengths = slots_of(block_table, key_pages.shape[1]), cache_seqlens.tolist()
    indices = torch.cat([row[:n] for row, n in zip(slots, lengths, strict=True)]) if B else slots.flatten()
    ends = torch.cat([torch.zeros(1, dtype=torch.int32), cache_seqlens.cumsum(0, dtype=torch.int32)])
    out, logits, lse = query.new_empty(B, H, d_v), torch.empty(B, H, splits, d_v), torch.empty(B, H, splits)
    module.decode_attention_fwd(
        query, key_pages.flatten(0, 1), value_pages.flatten(0, 1), out, ends, indices, logits, lse,
        torch.full((B,), splits, dtype=torch.int32), splits, d**-0.5 if softmax_scale is None else softmax_scale,
        1.0, 1.0,
    )  # fmt: skip
    return out
