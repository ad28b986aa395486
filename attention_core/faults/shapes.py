"""Faults of sizes and ranks: right on ordinary lengths, head sizes and ranks, wrong at an edge.

Each is the correct function of `reference` with one thing changed, or given its inputs wrongly.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases import reference
from attention_core.faults.bases.backward import build_backward, d_key
from attention_core.faults.bases.inputs import around
from attention_core.faults.row import rows

Fault = Callable[..., Tensor]


def wrapped(inputs: Callable[..., tuple[Tensor, Tensor, Tensor]]) -> Fault:
    """The correct function on `inputs(query, key, value)`."""

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        q, k, v = inputs(query, key, value)
        return reference.correct(q, k, v, attn_mask, 0.0, is_causal, scale, enable_gqa)

    return attention


# --- lengths and blocks ---


def tail_of_block_dropped() -> Fault:
    """A last block of keys with a single key is not visited: n_kv = 17, 33, 65, ..."""

    def faulty(s: Tensor) -> Tensor:
        n_kv = s.shape[-1]
        lost = (torch.arange(n_kv) == n_kv - 1) & (n_kv > 16 and n_kv % 16 == 1)
        return reference.weights(s.masked_fill(lost, -math.inf))

    return reference.build(weights=faulty)


def full_block_of_rows_repeats_its_first() -> Fault:
    """With exactly full blocks of 32 queries, the last row is written with the row before it."""

    def faulty(p: Tensor, value: Tensor) -> Tensor:
        out = reference.combine(p, value)
        if out.shape[-2] and out.shape[-2] % 32 == 0:
            out = torch.cat([out[..., :-1, :], out[..., -2:-1, :]], -2)
        return out

    return reference.build(combine=faulty)


def last_tile_keeps_its_rows() -> Fault:
    """The last tile of 128 queries is moved back to be whole, and is causal as if it stood where it did."""

    def faulty(n_q: int, n_kv: int) -> Tensor:
        rows = torch.arange(n_q)
        late = n_q // 128 * 128
        moved = rows + (128 - n_q % 128) * ((rows >= late) & (n_q > 128) & (n_q % 128 > 0))
        return torch.arange(n_kv) <= moved[:, None]

    return reference.build(causal_allowed=faulty)


def positions_in_the_input_dtype() -> Fault:
    """The causal comparison counts in the inputs' dtype: bfloat16 has no 257."""
    attention = reference.build()

    def call(query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False) -> Tensor:
        if not is_causal:
            return attention(query, key, value)
        rows, columns = (torch.arange(x.shape[-2], dtype=query.dtype) for x in (query, key))
        return attention(query, key, value, attn_mask=columns <= rows[:, None])

    return call


def inner_masks_repeated_in_turn() -> Fault:
    """With two batch axes, a mask of the inner one is spread over the flattened batch in the order of the outer one."""
    attention = reference.build()

    def call(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None) -> Tensor:
        if attn_mask is not None and query.dim() == 5 and attn_mask.dim() == 4 and attn_mask.shape[0] > 1:
            outer, inner = query.shape[:2]
            attn_mask = attn_mask.repeat_interleave(outer, 0).unflatten(0, (outer, inner))
        return attention(query, key, value, attn_mask=attn_mask)

    return call


def rows_beyond_128_lost() -> Fault:
    """The grid covers 128 queries."""

    def faulty(p: Tensor, value: Tensor) -> Tensor:
        out = reference.combine(p, value)
        return out * (torch.arange(out.shape[-2]) < 128)[:, None]

    return reference.build(combine=faulty)


def one_query_by_the_decode_path() -> Fault:
    """A single query takes the layout of decoding, without its row axis (Dao-AILab/flash-attention#1537)."""

    def faulty(p: Tensor, value: Tensor) -> Tensor:
        out = reference.combine(p, value)
        return out.squeeze(-2) if out.shape[-2] == 1 else out

    return reference.build(combine=faulty)


def gradient_tail_of_block_dropped() -> Fault:
    """The backward visits full blocks of 8 keys: the key gradient of a tail after the first is zero."""

    def faulty(ds: Tensor, query: Tensor, scale: float) -> Tensor:
        n_kv = ds.shape[-1]
        visited = torch.arange(n_kv) < max(n_kv // 8 * 8, min(n_kv, 8))
        return d_key(ds, query, scale) * visited[:, None]

    return build_backward(d_key=faulty)


# --- head sizes ---


def output_of_head_size() -> Fault:
    """The output is allocated like the query: values wider than keys are cut, narrower ones padded."""

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        out = reference.correct(query, key, value, attn_mask, 0.0, is_causal, scale, enable_gqa)
        return torch.nn.functional.pad(out, (0, query.shape[-1] - value.shape[-1]))

    return attention


def head_size_padded_with_garbage() -> Fault:
    """Head sizes off a multiple of 8 are padded by uncleared memory (turboderp-org/exllamav3 PR316)."""

    def faulty(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
        s = reference.scores(query, key, scale)
        garbage = torch.arange(key.shape[-2]) % 3 * 0.125
        return s if query.shape[-1] % 8 == 0 else s + garbage

    return reference.build(scores=faulty)


def odd_head_size_loses_its_last() -> Fault:
    """Pairs of channels are read at once: the last of an odd number is lost."""

    def faulty(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
        d = query.shape[-1]
        scale = 1 / math.sqrt(d) if scale is None else scale
        even = d - d % 2 if d > 1 else d
        return reference.scores(query[..., :even], key[..., :even], scale)

    return reference.build(scores=faulty)


# --- nothing at all (pytorch/pytorch PR175000, Dao-AILab/flash-attention PR2470 and PR2568) ---


def at_least_one_row() -> Fault:
    """The grid has at least one row, and so has the output of no queries."""

    def faulty(p: Tensor, value: Tensor) -> Tensor:
        out = reference.combine(p, value)
        return out if out.shape[-2] else out.new_zeros(*out.shape[:-2], 1, out.shape[-1])

    return reference.build(combine=faulty)


def softmax_of_no_keys() -> Fault:
    """The sum over no keys divides zero by zero (pytorch/pytorch PR175000)."""

    def faulty(p: Tensor, value: Tensor) -> Tensor:
        out = reference.combine(p, value)
        return out if p.shape[-1] else out + math.nan

    return reference.build(combine=faulty)


def no_keys_crash() -> Fault:
    """The first key is read before anyone asks whether there is one."""

    def faulty(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
        return reference.scores(query, key, scale) + 0 * key[..., 0, :1, None].detach()

    return reference.build(scores=faulty)


def largest_of_the_batch() -> Fault:
    """Lengths are gathered over the batch, and a batch of none has no largest one."""

    def faulty(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
        lengths = [query.shape[-2]] * query.shape[0]
        query = query[..., : lengths[0], :]
        return reference.scores(query, key, scale)

    return reference.build(scores=faulty)


def width_divides() -> Fault:
    """The width of the values divides the work."""

    def faulty(p: Tensor, value: Tensor) -> Tensor:
        1024 // value.shape[-1]
        return reference.combine(p, value)

    return reference.build(combine=faulty)


# --- sizes beyond a limit ---


def keys_beyond_512_lost() -> Fault:
    """The loop over keys ends after 512 (compare flashinfer-ai/flashinfer#4347)."""
    return reference.build(
        weights=lambda s: reference.weights(s.masked_fill(torch.arange(s.shape[-1]) >= 512, -math.inf))
    )


def rows_beyond_1024_repeat_the_last() -> Fault:
    """A block holds 1,024 rows, and later ones are written with the last of them."""

    def faulty(p: Tensor, value: Tensor) -> Tensor:
        return reference.combine(p, value)[..., torch.arange(p.shape[-2]).clamp(max=1023), :]

    return reference.build(combine=faulty)


def head_size_cut_at_128() -> Fault:
    """Scores are taken over the first 128 features."""
    return reference.build(
        scores=lambda q, k, scale: reference.scores(
            q[..., :128], k[..., :128], q.shape[-1] ** -0.5 if scale is None else scale
        )
    )


def key_gradient_cut_at_256() -> Fault:
    """The key's gradient is written for the first 256 features alone."""

    def faulty(ds: Tensor, query: Tensor, scale: float) -> Tensor:
        found = d_key(ds, query, scale)
        return found * (torch.arange(found.shape[-1]) < 256)

    return build_backward(d_key=faulty)


def problems_beyond_64_are_the_first() -> Fault:
    """A grid of 64 problems (batch times heads); the others keep what the first one gave."""

    def faulty(p: Tensor, value: Tensor) -> Tensor:
        flat = reference.combine(p, value).clone().flatten(0, -3) if p.ndim > 3 else reference.combine(p, value)
        index = torch.arange(flat.shape[0])
        return flat[torch.where(index < 64, index, 0)].reshape(*p.shape[:-1], value.shape[-1])

    return reference.build(combine=faulty)


def elements_counted_in_two_bytes() -> Fault:
    """Offsets into the keys are unsigned numbers of two bytes, so that what lies behind 65,536 numbers is read anew."""

    def inputs(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        flat = key.reshape(-1)
        return query, flat[torch.arange(flat.numel()) % 2**16].reshape(key.shape), value

    return wrapped(inputs)


def round_sizes_take_coarser_inputs() -> Fault:
    """Where lengths and head size are multiples of 16, float32 queries are cut to 10 bits, as TF32 units do."""

    def inputs(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        sizes = query.shape[-2], key.shape[-2], query.shape[-1]
        if query.dtype != torch.float32 or any(n % 16 or not n for n in sizes):
            return query, key, value
        return (
            query + (((query.detach() * 4097) - (query.detach() * 4097 - query.detach())) - query.detach()),
            key,
            value,
        )

    return wrapped(inputs)


# --- ranks ---


def batch_axis_added() -> Fault:
    """Inputs are fitted to rank 4, and those without a batch axis come back with one."""

    def faulty(p: Tensor, value: Tensor) -> Tensor:
        out = reference.combine(p, value)
        return out[None] if out.ndim == 3 else out

    return reference.build(combine=faulty)


def outer_masks_repeated_in_turn() -> Fault:
    """Two batch axes are made one, and a mask of the outer one is repeated: m0, m1, m0, m1 in place of m0,
    m0, m1, m1.
    """

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False
    ) -> Tensor:
        if query.ndim == 5 and attn_mask is not None and attn_mask.ndim == 5 and attn_mask.shape[1] == 1:
            outer, inner = query.shape[:2]
            turns = attn_mask[:, 0].repeat(inner, 1, 1, 1)
            attn_mask = turns.reshape(outer, inner, *attn_mask.shape[2:])
        return reference.correct(query, key, value, attn_mask, 0.0, is_causal)

    return attention


def second_batch_axis_lost() -> Fault:
    """With two batch axes, the keys of the first row of the second axis serve all."""

    def inputs(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return query, key[:, :1].expand_as(key) if key.ndim == 5 else key, value

    return wrapped(inputs)


def no_keys_give_the_shape_of_the_query() -> Any:
    """Without a key the early return has the query's shape.

    n_kv = 0 and d_v other than d.
    """
    return around(lambda a: {}, lambda out, a: out if a["key"].shape[-2] else torch.zeros_like(a["query"]))


ROWS = (
    *rows("fifth_sight_tiles", no_keys_give_the_shape_of_the_query),
)  # fmt: skip
