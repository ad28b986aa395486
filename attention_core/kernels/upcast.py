"""Half precision computed in float32: the inputs turned before, the output and the gradients rounded after.

torch's fused kernel takes bfloat16 and float16 as they are, with products that processors without instructions for
them make many times slower than float32's: its backward pass four to nine times, float16's forward pass twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attention_core.kernels.fused import fused_attention

HALVES = (torch.bfloat16, torch.float16)


def upcast_attention(
    query: Float[Tensor, "*#batch n_q d"],
    key: Float[Tensor, "*#batch_kv n_kv d"],
    value: Float[Tensor, "*#batch_kv n_kv d_v"],
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    inner: Callable[..., Tensor] = fused_attention,
) -> Float[Tensor, "*#batch n_q d_v"]:
    """The function of `dot_product_attention`, o_i = sum_j w_ij v_j, in float32 for inputs of two bytes.

    Errors are those of rounding inputs, output and gradients once, no larger than the fused kernel's; beside what the
    kernel needs, four bytes for every number of query, key, value and output.

    Args: as `dot_product_attention`; inner, the kernel that computes it, called with the arguments by name.
    Returns: (*batch, H, n_q, d_v) in the query's dtype. Raises: as `inner`. Other dtypes are left as they are.
    Example:
        >>> x = torch.ones(2, 4, dtype=torch.bfloat16)
        >>> upcast_attention(x, x, x, is_causal=True).dtype
        torch.bfloat16
    """

    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        mask = attn_mask
        if mask is not None and mask.dtype in HALVES and query.dtype == torch.float32:
            mask = mask.to(query.dtype)
        dropout: dict[str, Any] = {"dropout_p": dropout_p} if dropout_p else {}  # which not every kernel takes
        return inner(
            query, key, value, attn_mask=mask, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa, **dropout
        )

    return in_float32(attend, query, key, value)


def in_float32(function: Callable[..., Tensor], query: Tensor, key: Tensor, value: Tensor, *args: Any) -> Tensor:
    """function(query, key, value, *args), computed in float32 if all three are of one dtype of two bytes.

    Under autocast, which would turn them back, it is left off, unless that turns them to another dtype than theirs.

    Example:
        >>> x = torch.ones(1, 1, 2, 4, dtype=torch.bfloat16)
        >>> in_float32(fused_attention, x, x, x).dtype
        torch.bfloat16
    """
    dtype, device = query.dtype, query.device.type
    if dtype not in HALVES or key.dtype != dtype or value.dtype != dtype:
        return function(query, key, value, *args)
    if not torch.is_autocast_enabled(device):
        return function(query.float(), key.float(), value.float(), *args).to(dtype)
    if torch.get_autocast_dtype(device) != dtype:
        return function(query, key, value, *args)
    with torch.autocast(device, enabled=False):
        return function(query.float(), key.float(), value.float(), *args).to(dtype)
