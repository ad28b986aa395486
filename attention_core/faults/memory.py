"""Faults of memory: inputs are read by the wrong strides or offset, or written to.

Each is right on contiguous inputs that nobody looks at again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases import reference
from attention_core.faults.shapes import Fault, wrapped


def raw(x: Tensor, offset: int | torch.SymInt, strides: tuple[int, ...]) -> Tensor:
    """Elements of the storage under x by other strides; reads beyond the end stay at its last element."""
    where: Any = offset
    for axis, (size, step) in enumerate(zip(x.shape, strides, strict=True)):
        where = where + (torch.arange(size) * step).reshape([-1] + [1] * (x.ndim - axis - 1))
    count = x.untyped_storage().nbytes() // x.element_size()
    assert isinstance(where, Tensor)
    flat = x.detach().as_strided((count,), (1,), 0)
    return flat[where.clamp(max=count - 1)]


def packed(shape: torch.Size) -> tuple[int, ...]:
    """Strides of a contiguous tensor."""
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


def _misread(read: Callable[[Tensor], Tensor]) -> Fault:
    """Inputs replaced by what `read` finds in memory; gradients flow as if that were the input."""

    def misread(x: Tensor) -> Tensor:
        if x.numel() == 0 or (x.is_contiguous() and x.storage_offset() == 0):
            return x
        return x + (read(x) - x.detach())

    return wrapped(lambda *inputs: tuple(misread(x) for x in inputs))


def strides_ignored() -> Fault:
    """Raw storage is read as if contiguous (pytorch/pytorch#112577; huggingface/candle PR3703)."""
    return _misread(lambda x: raw(x, x.storage_offset(), packed(x.shape)))


def strides_ignored_at_full_blocks() -> Fault:
    """The same, on the fast path for lengths that fill blocks alone (torch-spyre/torch-spyre#4331)."""

    def read(x: Tensor) -> Tensor:
        full = x.shape[-2] % 4 == 0
        return raw(x, x.storage_offset(), packed(x.shape) if full else x.stride())

    return _misread(read)


def offset_ignored() -> Fault:
    """Views are read from the start of their storage."""
    return _misread(lambda x: raw(x, 0, x.stride()))


def batch_stride_assumed() -> Fault:
    """The step from one batch row to the next is computed from the sizes, whatever the stride says."""
    return _misread(lambda x: raw(x, x.storage_offset(), (math.prod(x.shape[1:]), *x.stride()[1:])))


def mask_strides_ignored() -> Fault:
    """The mask alone is read as if contiguous."""

    def faulty(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if attn_mask is not None and not attn_mask.is_contiguous() and attn_mask.numel():
            attn_mask = raw(attn_mask, attn_mask.storage_offset(), packed(attn_mask.shape))
        return reference.bias(s, attn_mask, causal)

    return reference.build(bias=faulty)


class _CotangentAsPacked(torch.autograd.Function):
    """Passes its input on, and misreads a strided cotangent."""

    @staticmethod
    def forward(ctx: Any, out: Tensor) -> Tensor:
        return out.clone()

    @staticmethod
    def backward(ctx: Any, cotangent: Tensor) -> Any:
        return raw(cotangent, cotangent.storage_offset(), packed(cotangent.shape))


def cotangent_strides_ignored() -> Fault:
    """The backward reads its cotangent as if contiguous: that of out.sum() is expanded from one number."""

    def faulty(p: Tensor, value: Tensor) -> Tensor:
        found: Tensor = _CotangentAsPacked.apply(reference.combine(p, value))
        return found

    return reference.build(combine=faulty)


def query_scaled_in_place() -> Fault:
    """The query is scaled where it lies."""

    def inputs(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        query.data.mul_(0.5)
        return 2 * query, key, value

    return wrapped(inputs)


def value_scaled_and_restored() -> Fault:
    """The value is multiplied and divided in place, which rounding does not restore."""

    def inputs(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        value.data.mul_(3).div_(3)
        return query, key, value

    return wrapped(inputs)


def mask_inverted_in_place() -> Fault:
    """A bool mask is turned into what masked_fill wants, in the caller's memory."""

    def faulty(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            s = s.masked_fill(attn_mask.data.logical_not_(), -math.inf)
            attn_mask = None
        return reference.bias(s, attn_mask, causal)

    return reference.build(bias=faulty)


def key_zeroed_in_backward() -> Fault:
    """The backward uses the key's memory as scratch."""

    class Scratch(torch.autograd.Function):
        """Passes the key on and clears it in the backward."""

        @staticmethod
        def forward(ctx: Any, key: Tensor) -> Tensor:
            ctx.memory = key.data
            return key.clone()

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> Any:
            ctx.memory.zero_()
            return gradient

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        passed: Tensor = Scratch.apply(key)
        return reference.correct(query, passed, value, attn_mask, 0.0, is_causal, scale, enable_gqa)

    return attention


class _CotangentScaled(torch.autograd.Function):
    """Passes its input on; the backward scales its cotangent where it lies, and again afterwards."""

    @staticmethod
    def forward(ctx: Any, out: Tensor) -> Tensor:
        return out.clone()

    @staticmethod
    def backward(ctx: Any, cotangent: Tensor) -> Any:
        found = cotangent.clone()
        cotangent.mul_(0.5)
        return found


def cotangent_scaled_in_place() -> Fault:
    """The backward leaves its cotangent changed: another branch of the graph may still read it."""

    def faulty(p: Tensor, value: Tensor) -> Tensor:
        found: Tensor = _CotangentScaled.apply(reference.combine(p, value))
        return found

    return reference.build(combine=faulty)


class _CotangentOfASum(_CotangentAsPacked):
    """Misreads a cotangent that is one number repeated, and no other."""

    @staticmethod
    def backward(ctx: Any, cotangent: Tensor) -> Any:
        if any(cotangent.stride()):
            return cotangent
        first = torch.zeros_like(cotangent, memory_format=torch.contiguous_format)
        first.view(-1)[:1] = cotangent.reshape(-1)[:1]
        return first


def cotangent_of_a_sum_misread() -> Fault:
    """A cotangent whose strides are all 0, that of out.sum(), is read as one number."""

    def faulty(p: Tensor, value: Tensor) -> Tensor:
        found: Tensor = _CotangentOfASum.apply(reference.combine(p, value))
        return found

    return reference.build(combine=faulty)


def expanded_values_lose_their_last_key() -> Fault:
    """Values expanded over heads (stride 0): with 16 c + 1 of them the last is read as the first."""

    def read(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        n = value.shape[-2]
        if value.ndim > 2 and value.shape[-3] > 1 and value.stride(-3) == 0 and n > 1 and n % 16 == 1:
            value = torch.cat([value[..., :-1, :], value[..., :1, :]], -2)
        return query, key, value

    return wrapped(read)


def values_by_the_strides_of_keys() -> Fault:
    """Values of the keys' shape are read by the keys' strides: right as long as both lie alike."""

    def read(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        if value.shape == key.shape and value.stride() != key.stride() and value.numel():
            value = value + (raw(value, value.storage_offset(), key.stride()) - value.detach())
        return query, key, value

    return wrapped(read)


def expanded_mask_rows_end_at_the_first_block() -> Fault:
    """A mask expanded over rows (stride 0) is read for the first 16 keys alone; what follows is open."""

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        if attn_mask is not None and attn_mask.ndim == 4 and attn_mask.shape[-2] > 1 and attn_mask.stride(-2) == 0:
            behind = torch.arange(attn_mask.shape[-1]) >= 16
            attn_mask = attn_mask.masked_fill(behind, attn_mask.dtype == torch.bool)
        return reference.correct(query, key, value, attn_mask, 0.0, is_causal, scale, enable_gqa)

    return attention
