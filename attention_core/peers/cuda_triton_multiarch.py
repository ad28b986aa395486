"""Kernels in Triton of cuda-triton-multiarch."""

from __future__ import annotations

from typing import Any

from torch import Tensor


def flash(query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False) -> Any:
    """FlashAttention-2 of several heads."""
    from kernels.flash_attention_full import flash_attention_full_triton

    if query.shape != key.shape or key.shape != value.shape:
        raise ValueError("all tensors have one shape")
    return flash_attention_full_triton(query, key, value, causal=is_causal)
