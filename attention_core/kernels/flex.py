"""Attention under a structured mask by the kernel that torch's FlexAttention generates for it.

Compiled for every form of call, for three to fifteen seconds on a processor, by a C++ compiler; then it skips what the
mask forbids. On GPUs it has gradients; on processors it has none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from inspect import unwrap
from threading import Lock
from types import FunctionType
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.forward_ad import unpack_dual
from torch.nn.attention import flex_attention as torch_flex

from attention_core.kernels.arguments import broadcast, check_mask_fits, check_shapes
from attention_core.kernels.block_sparse import DenseMask, without_numbers
from attention_core.kernels.fused import four_axes, fused_attention, mask_of_four_axes
from attention_core.masking import Causal, Mask
from attention_core.masking.checks import count
from attention_core.masking.flex_blocks import BLOCK, block_mask
from attention_core.masking.pieces import keep

MOST = 128
"""Sizes whose kernels a process keeps; the oldest are forgotten, and compiled again when they come back."""
KERNELS: dict[Any, Callable[..., Tensor]] = {}
UNCOMPILED = Lock()


def flex_structured_attention(
    query: Float[Tensor, "*#batch n_q d"],
    key: Float[Tensor, "*#batch_kv n_kv d"],
    value: Float[Tensor, "*#batch_kv n_kv d_v"],
    mask: Mask | None,
    scale: float | None = None,
    *,
    block: int = BLOCK,
    compiled: bool = True,
) -> Float[Tensor, "*#batch n_q d_v"]:
    """Attention under a structured mask, o_i = sum_j w_ij v_j over its pairs (i, j), by a generated kernel.

    A kernel serves calls of its sizes, strides, dtype and scale, with masks of one form: all that leave each query one
    run of keys are of one form, or of one for each number of sequences.

    Args: query, key, value of one dtype, H_kv may divide H; mask, a structured mask; scale, None = 1/sqrt(d);
        block, queries and keys that are computed together, even; compiled, False for torch's reference of the
        operator, which computes all pairs: to judge many sizes.
    Returns: (*batch, H, n_q, d_v) in the query's dtype; rows without a key are 0. On a processor NaN may come out as 0
        or as other numbers (docs/findings.md, 17).
    Raises: ValueError for sizes, heads, a mask or a block that contradict each other; NotImplementedError for gradients
        and float64 on a processor, and for forward-mode derivatives; RuntimeError where there is no compiler.
    Source: Dong et al., "Flex Attention: A Programming Model for Generating Optimized Attention Kernels" (2024).
    """
    grouped = query.ndim >= 3 and key.ndim >= 3 and query.shape[-3] != key.shape[-3]
    check_shapes(query, key, value, grouped)
    _check_block(block, compiled)
    if mask is not None:
        sequences = _sequences(mask, query, key, block)
        if sequences != 1 and (query.ndim != 4 or sequences != max(query.shape[0], key.shape[0])):
            scores = (*query.shape[:-1], key.shape[-2])
            raise ValueError(f"a mask of {sequences} sequences does not broadcast to the scores {scores}")
    return _by_blocks(query, key, value, mask, scale, block, compiled)


def _check_block(block: int, compiled: bool) -> None:
    if count("block", block, least=1) % 2 and compiled:  # on a processor they give garbage: docs/findings.md, 18
        raise ValueError(f"block must be even, got {block}")


def _sequences(mask: Mask, query: Tensor, key: Tensor, block: int) -> int:
    """How many sequences a mask tells apart, once its sizes are found to fit."""
    n_q, n_kv = query.shape[-2], key.shape[-2]
    if n_q and n_kv:
        return int(block_mask(mask, n_q, n_kv, query.device, block).shape[0])
    first = mask.extent(n_q, n_kv).first
    return first.shape[0] if first.ndim == 2 else 1


def flex_written(
    query: Float[Tensor, "*#batch n_q d"],
    key: Float[Tensor, "*#batch_kv n_kv d"],
    value: Float[Tensor, "*#batch_kv n_kv d_v"],
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    block: int = BLOCK,
    compiled: bool = True,
) -> Float[Tensor, "*#batch n_q d_v"]:
    """`flex_structured_attention` for masks that are written out: their structure is found, and used.

    Args: attn_mask, bool, True = attend, or numbers, which leave nothing to skip and go to `fused_attention`;
        is_causal: j <= i, together with the mask; the rest as there.
    Raises: as there.
    """
    check_shapes(query, key, value, enable_gqa)
    _check_block(block, compiled)
    mask: Mask | None = Causal("top_left") if is_causal else None
    if attn_mask is not None:
        check_mask_fits(attn_mask, query, key, enable_gqa)
        if attn_mask.dtype != torch.bool:
            return fused_attention(query, key, value, attn_mask, 0.0, is_causal, scale, enable_gqa)
        batch = broadcast(query.shape[:-3], key.shape[:-3], value.shape[:-3]) or ()
        written = DenseMask(mask_of_four_axes(attn_mask, batch))
        mask = written if mask is None else written & mask
    return _by_blocks(query, key, value, mask, scale, block, compiled)


def _by_blocks(
    query: Tensor, key: Tensor, value: Tensor, mask: Mask | None, scale: float | None, block: int, compiled: bool
) -> Tensor:
    """Inputs and a mask that fit together."""
    if torch.is_autocast_enabled(query.device.type):  # what torch's own function does before anything else
        dtype = torch.get_autocast_dtype(query.device.type)
        query, key, value = query.to(dtype), key.to(dtype), value.to(dtype)
    if not (query.numel() and key.numel() and value.numel()):
        return without_numbers(query, key, value, mask, scale)
    query, key, value = _without_gradients(query, key, value, compiled)
    batch = broadcast(query.shape[:-3], key.shape[:-3], value.shape[:-3]) or ()
    four = four_axes(query, batch), four_axes(key, batch), four_axes(value, batch)
    options = {
        "block_mask": None if mask is None else block_mask(mask, query.shape[-2], key.shape[-2], query.device, block),
        "enable_gqa": four[0].shape[1] != four[1].shape[1],
        "scale": 1.0 / math.sqrt(query.shape[-1]) if scale is None else float(scale),
    }
    out = _call_generated_kernel(four, options) if compiled else _reference(four, options)
    return out.reshape(*batch, *query.shape[-3:-1], value.shape[-1])


def _without_gradients(
    query: Tensor, key: Tensor, value: Tensor, compiled: bool
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Inputs that ask for no derivative that there is none of. Raises: NotImplementedError."""
    instead = "use kernel='core:block_sparse'"
    inputs = query, key, value
    if any(unpack_dual(x).tangent is not None for x in inputs):  # type: ignore[no-untyped-call]
        raise NotImplementedError("FlexAttention has no forward-mode derivatives: use kernel='torch:math'")
    if query.device.type != "cpu":
        return inputs
    if compiled and query.dtype == torch.float64:
        raise NotImplementedError(f"FlexAttention has no float64 on a processor: {instead}")
    if torch.is_grad_enabled() and any(x.requires_grad for x in inputs):
        raise NotImplementedError(f"FlexAttention has no gradients on a processor: {instead}, or torch.no_grad()")
    return query.detach(), key.detach(), value.detach()  # torch refuses the others whether or not gradients are wanted


def _call_generated_kernel(four: tuple[Tensor, Tensor, Tensor], options: dict[str, Any]) -> Tensor:
    """By the kernel of the sizes, which is compiled where it is new."""
    # Here: importing torch's compiler takes a second, and `torch.compile` does so only now.
    from torch._dynamo.exc import FailOnRecompileLimitHit
    from torch._inductor.exc import InductorError

    what = (*(x.shape for x in four), four[0].dtype, four[0].device)
    for function in (KERNELS.get(what), None):
        try:
            return (function or _new_kernel(what))(*four, **options)
        except FailOnRecompileLimitHit:  # eight masks, scales or strides of these sizes: begin again
            if function is None:
                raise
        except InductorError as error:
            if "compiler" not in str(error):
                raise
            raise RuntimeError(
                "FlexAttention wants a C++ compiler (torch looks at $CXX, then for g++): use kernel='core:block_sparse'"
            ) from error
    raise AssertionError("one of the two answers")


def _new_kernel(what: object) -> Callable[..., Tensor]:
    """FlexAttention under torch.compile, of fixed sizes: changing ones may not compile (docs/findings.md, 5).

    torch counts the kernels of a code object, and beyond eight runs it uncompiled, slow and with n_q x n_kv scores. So
    each form of call has a code object of its own, apart from torch's, which others compile, too; and it is compiled as
    a whole or not at all.
    """
    own = FunctionType(unwrap(_call).__code__.replace(), unwrap(_call).__globals__)
    function: Callable[..., Tensor] = torch.compile(own, dynamic=False, fullgraph=True)
    keep(KERNELS, what, function, MOST)
    return function


def _call(query: Tensor, key: Tensor, value: Tensor, block_mask: Any, enable_gqa: bool, scale: float) -> Tensor:
    out: Tensor = torch_flex.flex_attention(
        query, key, value, block_mask=block_mask, enable_gqa=enable_gqa, scale=scale
    )  # fmt: skip
    return out


def _reference(four: tuple[Tensor, Tensor, Tensor], options: dict[str, Any]) -> Tensor:
    # torch's switch to call the operator itself: otherwise every new size is traced first, half a second each.
    switch = "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG"
    with UNCOMPILED:
        before = getattr(torch_flex, switch)
        setattr(torch_flex, switch, True)
        try:
            return _call(*four, **options)
        finally:
            setattr(torch_flex, switch, before)
