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
from attention_core.faults.bases.inputs import Attention, Given, around, with_keys_and_values
from attention_core.faults.bases.one_row import read_behind_the_row, write_into_the_row
from attention_core.faults.bases.reference import build
from attention_core.faults.row import rows
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


def values_by_key_stride_of_heads() -> Attention:
    """Values find their head by the keys' head stride: d_v = d hides it, and so does one head."""

    def expand(key: Tensor, value: Tensor, heads: int) -> tuple[Tensor, Tensor]:
        k, v = reference.expand(key, value, heads)
        if v.shape[-1] >= k.shape[-1] or v.shape[-3] < 2:
            return k, v
        return k, torch.cat([v[..., :1, :, :], v[..., 1:, :, :].roll(1, -2)], -3)

    return build(expand=expand)


def packed_if_its_last_stride_is_one() -> Attention:
    """What has stride 1 in its last axis counts as packed: slices and transposes of other axes are misread."""
    return _misread(lambda x: raw(x, x.storage_offset(), packed(x.shape)) if x.dim() and x.stride(-1) == 1 else x)


def output_lies_like_the_query() -> Attention:
    """The output takes over the query's strides and is then written in order: packed queries hide it."""

    def attention(query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False) -> Tensor:
        out = reference.correct(query, key, value, is_causal=is_causal)
        if query.is_contiguous() or out.shape != query.shape or not query.transpose(-2, -3).is_contiguous():
            return out
        return out.reshape(*out.shape[:-3], out.shape[-2], out.shape[-3], out.shape[-1]).transpose(-2, -3)

    return attention


def offset_of_the_values_ignored() -> Attention:
    """Queries and keys honour their storage offset, values start at the front of theirs."""
    read = build()

    def attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None) -> Tensor:
        front = raw(value.detach(), 0, value.stride())
        return read(query, key, value + (front - value).detach(), attn_mask)

    return attention


def decoding_writes_into_its_query() -> Any:
    """One query and d_v = d: the output takes the query's memory."""

    def attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None) -> Tensor:
        out = reference.correct(query, key, value, attn_mask)
        if out.shape == query.shape and query.shape[-2] == 1 and not query.requires_grad:
            query.copy_(out)
        return out

    return attention


def expanded_heads_lose_their_last_key() -> Any:
    """Keys expanded over heads (stride 0): with 16 c + 1 of them the last one is read as the first
    (pytorch/pytorch#191937).
    """

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        n = key.shape[-2]
        if key.shape[-3] > 1 and key.stride(-3) == 0 and n > 1 and n % 16 == 1:
            key, value = (torch.cat([x[..., :-1, :], x[..., :1, :]], -2) for x in (key, value))
        return reference.correct(query, key, value, attn_mask, 0.0, is_causal, scale, enable_gqa)

    return attention


def one_set_of_strides_for_query_and_key() -> Any:
    """Keys of the queries' shape are read with the queries' strides: right as long as both lie alike."""

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        if key.shape == query.shape and key.stride() != query.stride() and key.numel():
            reach = 1 + sum((n - 1) * s for n, s in zip(query.shape, query.stride(), strict=True))
            if reach <= key.untyped_storage().size() // key.element_size() - key.storage_offset():
                key = torch.as_strided(key, key.shape, query.stride(), key.storage_offset())
        return reference.correct(query, key, value, attn_mask, 0.0, is_causal, scale, enable_gqa)

    return attention


def head_offset_from_a_quotient_of_strides() -> Any:
    """A head's first row is found by stride_h // stride_n: n in (B, H, n, d), 0 in a transposed view
    (BobMcDear/attorch#14).

    Keys or values that lie as (B, n, H, d): every head reads the first one's.
    """

    def first(x: Tensor) -> Tensor:
        inside = x.shape[-3] > 1 and 0 < x.stride(-3) < x.stride(-2)
        return x[..., :1, :, :].expand_as(x) if inside else x

    return with_keys_and_values(lambda query, key, value: (first(key), first(value)))


def innermost_stride_taken_for_one() -> Any:
    """All strides are honoured but the last, which is taken for 1 (pytorch/pytorch PR187506).

    Queries, keys or values whose features do not lie side by side: transposed last axes, every second feature of a
    wider one.
    """

    def read(x: Tensor) -> Tensor:
        if x.shape[-1] < 2 or x.stride(-1) in (0, 1) or not x.numel():
            return x
        strides = (*x.stride()[:-1], 1)
        reach = 1 + sum((n - 1) * s for n, s in zip(x.shape, strides, strict=True))
        fits = reach <= x.untyped_storage().size() // x.element_size() - x.storage_offset()
        return torch.as_strided(x, x.shape, strides, x.storage_offset()) if fits else x

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        query, key, value = read(query), read(key), read(value)
        return reference.correct(query, key, value, attn_mask, 0.0, is_causal, scale, enable_gqa)

    return attention


def room(x: Tensor) -> int:
    """Elements of the storage behind the first one of x."""
    return int(x.untyped_storage().nbytes() // x.element_size() - x.storage_offset())


def keys_read_as_contiguous() -> Any:
    """Keys are read by the strides of a contiguous tensor, whatever theirs are."""

    def change(a: Given) -> Given:
        key = a["key"]
        if key.is_contiguous() or key.requires_grad or room(key) < key.numel():
            return {}
        return {"key": key.as_strided(key.shape, torch.empty(key.shape, device="meta").stride())}

    return around(change)


def values_from_the_start_of_their_storage() -> Any:
    """The values' storage offset is ignored: a view into packed q, k, v is read from the start."""

    def change(a: Given) -> Given:
        value = a["value"]
        moved = value.storage_offset() and not value.requires_grad
        return {"value": value.as_strided(value.shape, value.stride(), 0)} if moved else {}

    return around(change)


def causal_edge_written_into_the_mask() -> Any:
    """With a float mask, causality is written into the caller's mask."""

    def change(a: Given) -> Given:
        mask, n_q, n_kv = a["attn_mask"], a["query"].shape[-2], a["key"].shape[-2]
        if not a["is_causal"] or mask is None or not mask.is_floating_point() or mask.requires_grad:
            return {}
        if mask.shape[-2:] == (n_q, n_kv) and mask.is_contiguous():
            mask.masked_fill_(torch.ones(n_q, n_kv, dtype=torch.bool).triu(1), -math.inf)
        return {}

    return around(change)


def query_multiplied_in_place() -> Any:
    """The scale is multiplied into the query in place: contiguous, no gradient, 16 queries or more."""

    def change(a: Given) -> Given:
        query = a["query"]
        if not query.is_contiguous() or query.requires_grad or query.shape[-2] < 16:
            return {}
        before = query.clone()
        query.mul_(query.shape[-1] ** -0.5 if a["scale"] is None else a["scale"])
        return {"query": before}

    return around(change)


def single_value_returned_itself() -> Any:
    """With one query and one key the value itself is returned: who writes into the output writes into the input."""

    def finish(out: Tensor, a: Given) -> Tensor:
        query, key, value = a["query"], a["key"], a["value"]
        alone = query.shape[-2] == key.shape[-2] == 1 and query.shape[:-2] == value.shape[:-2]
        plain = a["attn_mask"] is None and not a["dropout_p"]
        return value if alone and plain and out.shape == value.shape else out

    return around(lambda a: {}, finish)


def row_of_a_mask_written_into() -> Any:
    """A mask whose rows are expanded from one is written into, in that row."""
    return around(lambda a: {} if a["attn_mask"] is None else {"attn_mask": write_into_the_row(a["attn_mask"])})


def rows_behind_the_row_of_a_mask() -> Any:
    """A mask whose rows are expanded from one is read as if each had memory of its own."""
    return around(lambda a: {} if a["attn_mask"] is None else {"attn_mask": read_behind_the_row(a["attn_mask"])})


ROWS = (
    *rows(
        "hard_inputs", values_by_key_stride_of_heads, packed_if_its_last_stride_is_one, output_lies_like_the_query,
        offset_of_the_values_ignored, accumulate="float32",
    ),
    *rows("first_sight_others", decoding_writes_into_its_query),
    *rows(
        "second_sight", expanded_heads_lose_their_last_key, one_set_of_strides_for_query_and_key,
        accumulate="float32",
    ),
    *rows(
        "third_sight", head_offset_from_a_quotient_of_strides, innermost_stride_taken_for_one, accumulate="float32",
    ),
    *rows(
        "fifth_sight_state", keys_read_as_contiguous, values_from_the_start_of_their_storage,
        causal_edge_written_into_the_mask, query_multiplied_in_place,
    ),
    *rows("fifth_sight_state", single_value_returned_itself, gradients=False),
)  # fmt: skip
