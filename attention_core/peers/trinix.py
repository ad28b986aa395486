"""Kernels in Triton of trinix."""

from __future__ import annotations

from torch import Tensor


def flash(
    query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False, scale: float | None = None
) -> Tensor:  # fmt: skip
    """trinix's attention kernel: (B, n, H, d)."""
    from trinix.kernels.attention_kernel import TritonAttentionKernel

    out: Tensor = TritonAttentionKernel.apply(query, key, value, causal=is_causal, scale=scale)
    return out
