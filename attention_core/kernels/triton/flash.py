"""FlashAttention in Triton, forward and backward, with the meaning of torch's function; without masks and dropout."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any, Literal, overload

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from attention_core.kernels.arguments import broadcast, check_shapes

BLOCK = 64
"""Rows of a block of queries, and of a block of keys."""
MOST_HEADS = 65535
"""Programs along the second axis of a grid, as CUDA has it."""


# fmt: off
@overload
def flash_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False, *,
    block: int = BLOCK, return_lse: Literal[False] = False,
) -> Tensor: ...
@overload
def flash_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False, *,
    block: int = BLOCK, return_lse: Literal[True],
) -> tuple[Tensor, Tensor]: ...
# fmt: on
def flash_attention(
    query: Float[Tensor, "*#batch n_q d"],
    key: Float[Tensor, "*#batch_kv n_kv d"],
    value: Float[Tensor, "*#batch_kv n_kv d_v"],
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    block: int = BLOCK,
    return_lse: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Attention in one pass over blocks of keys: o_i = sum_j w_ij v_j, w_i = softmax_j(scale q_i . k_j).

    Args: as torch's scaled_dot_product_attention, but attn_mask must be None and dropout_p 0; block, a power of two of
        at least 16: the rows of a block.
    Returns: out (*batch, H, n_q, d_v) in the query's dtype; with return_lse also the log-sum-exp (*batch, H, n_q),
        natural log, in float32. A row without a key is 0 (lse -inf).
    Raises: ValueError where shapes contradict each other, for a mask, dropout, float64 and a block that is not such a
        power; RuntimeError for tensors on a processor where triton was imported without TRITON_INTERPRET=1.
    Source: Dao, "FlashAttention-2" (2023), algorithms 1 and 2, without atomics in the backward pass.
    """
    if attn_mask is not None or dropout_p:
        raise ValueError("this kernel has no masks and no dropout: use is_causal=True, or another kernel")
    check_block(block)
    check_shapes(query, key, value, enable_gqa)
    check_dtype(query)
    if scale is None:
        scale = 1.0 / math.sqrt(query.shape[-1]) if query.shape[-1] else 1.0
    batch = broadcast(query.shape[:-3], key.shape[:-3], value.shape[:-3]) or ()
    parts = [with_four_axes(x, batch) for x in (query, key, value)]
    out, lse = FlashFunction.apply(*parts, is_causal, scale, block)  # type: ignore[no-untyped-call]
    shape = (*batch, *query.shape[-3:-1])
    out, lse = out.reshape(*shape, value.shape[-1]), lse.reshape(shape)
    return (out, lse) if return_lse else out


def with_four_axes(tensor: Float[Tensor, "*b n d"], batch: tuple[int, ...]) -> Float[Tensor, "B H n d"]:
    """The tensor as (B, H, n, d), its batch axes expanded and joined, and its features side by side."""
    if tensor.ndim == 2:
        tensor = tensor[None]
    joined = tensor.expand(*batch, *tensor.shape[-3:]).reshape(math.prod(batch), *tensor.shape[-3:])
    return joined if joined.stride(-1) == 1 else joined.contiguous()


class FlashFunction(torch.autograd.Function):
    """(out, lse) of (B, H, n, d) tensors, with the gradients of both."""

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, is_causal: bool, scale: float, block: int
    ) -> tuple[Tensor, Tensor]:
        """Launch one program for each block of queries of each head."""
        (B, H, n_q, d), d_v = query.shape, value.shape[-1]
        check_grid(B * H)
        programs = load_programs("flash_programs", query)
        out = query.new_empty(B, H, n_q, d_v)
        lse = query.new_empty((B, H, n_q), dtype=torch.float32)
        if out.numel() or lse.numel():
            programs.forward[-(-n_q // block), B * H](
                query, key, value, out, lse, *strides(query, key, value, out), H, H // key.shape[1], n_q, key.shape[2],
                d, d_v, scale, **constants(query, value, is_causal, block),
            )  # fmt: skip
        ctx.save_for_backward(query, key, value, out, lse)
        ctx.settings = is_causal, scale, block
        return out, lse

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, grad_lse: Tensor) -> tuple[Tensor | None, ...]:
        """Launch one program for each block of queries, then one for each block of keys."""
        query, key, value, out, lse = ctx.saved_tensors
        is_causal, scale, block = ctx.settings
        programs = load_programs("flash_programs", query)
        (B, H, n_q, d), (_, H_kv, n_kv, d_v) = query.shape, value.shape
        grad = grad if grad.stride(-1) == 1 else grad.contiguous()
        # d lse_i / d s_ij = p_ij, so that its gradient joins delta with the other sign.
        delta = (grad.to(lse.dtype) * out.to(lse.dtype)).sum(-1) - grad_lse
        inputs = query, key, value, grad, lse, delta.contiguous()
        steps, named = strides(query, key, value, grad), constants(query, value, is_causal, block)
        grads = [torch.zeros_like(x, memory_format=torch.contiguous_format) for x in (query, key, value)]
        if grads[0].numel() and n_kv:
            programs.backward_queries[-(-n_q // block), B * H](
                *inputs, grads[0], *steps, *strides(grads[0]), H, H // H_kv, n_q, n_kv, d, d_v, scale, **named
            )
        if n_q and grads[1].numel() + grads[2].numel():
            programs.backward_keys[-(-n_kv // block), B * H_kv](
                *inputs, *grads[1:], *steps, *strides(*grads[1:]), H_kv, H // H_kv, n_q, n_kv, d, d_v, scale, **named
            )
        return *grads, None, None, None


def load_programs(module: str, tensor: Tensor) -> Any:
    """The programs of a module of this folder, imported on first use, if they can run where a tensor is.

    Raises:
        ImportError: triton is not installed.
        RuntimeError: the tensor is on a processor, and triton was imported without its interpreter.
    """
    import triton

    programs = import_module(f"attention_core.kernels.triton.{module}")
    jitted = [value for value in vars(programs).values() if isinstance(value, triton.runtime.JITFunction)]
    if tensor.device.type == "cpu" and jitted:
        raise RuntimeError("Triton kernels need a GPU, or TRITON_INTERPRET=1 set before triton is imported")
    return programs


def check_block(block: int) -> None:
    """Raise ValueError unless a block is one that a product of tiles can have."""
    if block < 16 or block & (block - 1):
        raise ValueError(f"block must be a power of two of at least 16, got {block}")


def check_grid(count: int) -> None:
    """Raise ValueError for more heads of all sequences than the second axis of a GPU's grid has places."""
    if count > MOST_HEADS:
        raise ValueError(f"{count} heads in all are too many for one call: at most {MOST_HEADS}, split the batch")


def check_dtype(tensor: Tensor) -> None:
    """Raise ValueError for float64: the sums are float32."""
    if tensor.dtype == torch.float64:
        raise ValueError("this kernel computes in float32: float64 is not supported")


def strides(*tensors: Tensor) -> list[int]:
    """The strides of the first three axes of each tensor."""
    return [step for tensor in tensors for step in tensor.stride()[:3]]


def constants(query: Tensor, value: Tensor, is_causal: bool, block: int) -> dict[str, Any]:
    """What the programs are compiled for."""
    import triton

    return {
        "IS_CAUSAL": is_causal,
        "BLOCK": block,
        "D": max(16, triton.next_power_of_2(query.shape[-1])),
        "D_V": max(16, triton.next_power_of_2(value.shape[-1])),
        "num_warps": max(4, block // 16),  # four times slower with 4 where a block is 128 rows, on an H200
    }
