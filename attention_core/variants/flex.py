"""Attention under a structured mask by the kernel that torch's FlexAttention generates for it.

Compiled once for sizes, dtype and form of mask, for three to fifteen seconds on a processor, by a C++ compiler; then it
skips what the mask forbids. On GPUs it has gradients; on processors it has none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.attention import flex_attention as torch_flex

from ..arguments import broadcast, check_mask_fits, check_shapes
from ..dot_product import dot_product_attention
from ..masking import Causal, Mask
from ..masking.blocks import BLOCK, block_mask
from .block_sparse import Written
from .fused import four_axes, fused_attention, mask_of_four_axes

MOST = 128
"""Kernels that a process generates, where torch stops at eight: every size has one of its own."""


@cache
def _generated() -> Callable[..., Tensor]:
    """FlexAttention under torch.compile, of fixed sizes: changing ones may not compile (docs/findings.md, 5).

    A whole graph, so that what cannot be compiled is an error and no slow call that writes n_q x n_kv scores.
    """
    function: Callable[..., Tensor] = torch.compile(torch_flex.flex_attention, dynamic=False, fullgraph=True)
    return function


def flex_structured_attention(
    query: Float[Tensor, "*batch H n_q d"],
    key: Float[Tensor, "*batch H_kv n_kv d"],
    value: Float[Tensor, "*batch H_kv n_kv d_v"],
    mask: Mask | None,
    scale: float | None = None,
    *,
    block: int = BLOCK,
    compiled: bool = True,
) -> Float[Tensor, "*batch H n_q d_v"]:
    """Attention under a structured mask, o_i = sum_j w_ij v_j over its pairs (i, j), by a generated kernel.

    Args: query, key, value of one dtype, H_kv may divide H; mask, a structured mask; scale, None = 1/sqrt(d);
        block, queries and keys that are computed together; compiled, False for torch's reference of the operator, which
        computes all pairs: to judge many sizes.
    Returns: (*batch, H, n_q, d_v) in the query's dtype; rows without a key are 0.
    Raises: ValueError for sizes, heads or a mask that contradict each other; NotImplementedError for gradients on a
        processor; what torch raises where it has no compiler.
    Example: flex_structured_attention(q, k, v, sliding_window(256)).
    Source: Dong et al., "Flex Attention: A Programming Model for Generating Optimized Attention Kernels" (2024).
    """
    grouped = query.ndim >= 3 and key.ndim >= 3 and query.shape[-3] != key.shape[-3]
    check_shapes(query, key, value, grouped)
    if mask is not None and query.numel() and key.numel():
        sequences = block_mask(mask, query.shape[-2], key.shape[-2], query.device, block).shape[0]
        if sequences > 1 and (query.ndim != 4 or sequences != max(query.shape[0], key.shape[0])):
            scores = (*query.shape[:-1], key.shape[-2])
            raise ValueError(f"a mask of {sequences} sequences does not broadcast to the scores {scores}")
    return _by_blocks(query, key, value, mask, scale, block, compiled)


def flex_written(
    query: Float[Tensor, "*batch H n_q d"],
    key: Float[Tensor, "*batch H_kv n_kv d"],
    value: Float[Tensor, "*batch H_kv n_kv d_v"],
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    block: int = BLOCK,
    compiled: bool = True,
) -> Float[Tensor, "*batch H n_q d_v"]:
    """`flex_structured_attention` for masks that are written out: their structure is found, and used.

    Args: attn_mask, bool, True = attend, or numbers, which leave nothing to skip and go to `fused_attention`;
        is_causal: j <= i, together with the mask; the rest as there.
    Raises: as there. Example: flex_written(q, k, v, blocks) with a bool tensor `blocks` that is mostly False.
    """
    check_shapes(query, key, value, enable_gqa)
    mask: Mask | None = Causal("top_left") if is_causal else None
    if attn_mask is not None:
        check_mask_fits(attn_mask, query, key, enable_gqa)
        if attn_mask.dtype != torch.bool:
            return fused_attention(query, key, value, attn_mask, 0.0, is_causal, scale, enable_gqa)
        batch = broadcast(query.shape[:-3], key.shape[:-3], value.shape[:-3]) or ()
        written = Written(mask_of_four_axes(attn_mask, batch))
        mask = written if mask is None else written & mask
    return _by_blocks(query, key, value, mask, scale, block, compiled)


def _by_blocks(
    query: Tensor, key: Tensor, value: Tensor, mask: Mask | None, scale: float | None, block: int, compiled: bool
) -> Tensor:
    """Inputs and a mask that fit together."""
    grouped = query.ndim > 2 and query.shape[-3] != key.shape[-3]
    if torch.is_autocast_enabled(query.device.type):  # what torch's own function does before anything else
        dtype = torch.get_autocast_dtype(query.device.type)
        query, key, value = query.to(dtype), key.to(dtype), value.to(dtype)
    if not (query.numel() and key.numel() and value.numel()):
        return dot_product_attention(query, key, value, scale=scale, enable_gqa=grouped)
    if compiled and query.device.type == "cpu" and query.dtype == torch.float64:
        raise NotImplementedError("FlexAttention has no float64 on a processor: use kernel='core:block_sparse'")
    wanted = torch.is_grad_enabled() and (query.requires_grad or key.requires_grad or value.requires_grad)
    if wanted and query.device.type == "cpu":
        raise NotImplementedError(
            "FlexAttention has no gradients on a processor: use kernel='core:block_sparse', or torch.no_grad()"
        )
    batch = broadcast(query.shape[:-3], key.shape[:-3], value.shape[:-3]) or ()
    four = four_axes(query, batch), four_axes(key, batch), four_axes(value, batch)
    blocks = None if mask is None else block_mask(mask, query.shape[-2], key.shape[-2], query.device, block)
    scale = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    out = _flex(*four, compiled, block_mask=blocks, enable_gqa=grouped, scale=scale)
    return out.reshape(*batch, *query.shape[-3:-1], value.shape[-1])


def _flex(query: Tensor, key: Tensor, value: Tensor, compiled: bool, **options: Any) -> Tensor:
    if compiled:
        # Read when a call is compiled. Costs a microsecond where it is not.
        with torch._dynamo.config.patch(recompile_limit=MOST, accumulated_recompile_limit=MOST):
            return _generated()(query, key, value, **options)
    # torch's switch to call the operator itself: otherwise every new size is traced first, half a second each.
    switch = "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG"
    before = getattr(torch_flex, switch)
    setattr(torch_flex, switch, True)
    try:
        out: Tensor = torch_flex.flex_attention(query, key, value, **options)
        return out
    finally:
        setattr(torch_flex, switch, before)
