"""flash-attn-triton."""

from __future__ import annotations

from torch import Tensor


def flash(
    query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False, scale: float | None = None
) -> Tensor:  # fmt: skip
    """flash-attn-triton's copy of flash-attention's Triton kernels, forward and backward: (B, n, H, d)."""
    from flash_attn_triton.triton_kernel.flash_attn_dao import FlashAttnFunc

    if value.shape != key.shape:
        raise ValueError("keys and values have one shape")
    out: Tensor = FlashAttnFunc.apply(query, key, value, None, is_causal, scale)
    return out
