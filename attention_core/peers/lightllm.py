"""Kernels in Triton of lightllm."""

from __future__ import annotations

from unittest.mock import patch

import torch
from torch import Tensor

from attention_core.peers.triton_calls import slots_of


def decode(query: Tensor, key_pages: Tensor, value_pages: Tensor, block_table: Tensor, cache_seqlens: Tensor) -> Tensor:
    """lightllm's decoding of one token a text, query (B, H, d)."""
    from lightllm.models.llama.triton_kernel.gqa_decode_flashattention_nopad import gqa_decode_attention_fwd

    out, keys, values = torch.empty_like(query), key_pages.flatten(0, 1), value_pages.flatten(0, 1)
    slots = slots_of(block_table, key_pages.shape[1])
    texts = torch.arange(len(query), dtype=torch.int32, device=query.device)
    gqa_decode_attention_fwd(query, keys, values, out, slots, texts, cache_seqlens)
    return out


def prefill(query: Tensor, key: Tensor, value: Tensor, cu_seqlens: Tensor, max_seqlen: int) -> Tensor:
    """lightllm's attention of packed texts, always causal."""
    with patch("torch.cuda.get_device_name", return_value="none"):
        from lightllm.models.llama.triton_kernel import context_flashattention_nopad as module

    out = torch.empty_like(query)
    module.context_attention_fwd_no_prompt_cache(query, key, value, out, cu_seqlens[:-1], cu_seqlens.diff(), max_seqlen)
    return out
