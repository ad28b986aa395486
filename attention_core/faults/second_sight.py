"""A second set of faults of attention, written when the laws were frozen, in one go and without a look at them.

Their rate of refutation at first sight is in experiments/power/first_sight.json. They stay as they were written.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases import reference
from attention_core.faults.bases.reference import build
from attention_core.faults.bases.tiles import Flash, Tiles
from attention_core.faults.row import row

# --- tiles and splits -----------------------------------------------------------------------------


class two_empty_splits_swallow_the_row(Tiles):  # noqa: N801
    """Two empty splits merge to NaN, which a guard turns into a dead row whatever follows
    (flashinfer-ai/flashinfer#4051).

    Up to four queries with 32 keys or more are split in four; padding on the left empties the first two splits.
    """

    part: int | None = None

    def edges(self, n_kv: int) -> list[tuple[int, int]]:
        if self.part is None:
            return super().edges(n_kv)
        size = -(-n_kv // 4)
        first, last = self.part * size, min((self.part + 1) * size, n_kv)
        return [(start, min(start + self.block, last)) for start in range(first, last, self.block)]

    def walk(self, q: Tensor, k: Tensor, v: Tensor, *rest: Any) -> tuple[Tensor, Tensor, Tensor]:
        if q.shape[-2] > 4 or k.shape[-2] < 32:
            return super().walk(q, k, v, *rest)
        parts = []
        for self.part in range(4):
            acc, l, m = super().walk(q, k, v, *rest)  # noqa: E741
            parts.append((acc / l.masked_fill(l == 0, 1.0), m + torch.log(l)))
        self.part = None
        out, lse = parts[0]
        for other, weight in parts[1:]:
            top = torch.maximum(lse, weight)
            a, b = torch.exp(lse - top), torch.exp(weight - top)
            out, lse = (a * out + b * other) / (a + b), top + torch.log(a + b)
        dead = lse.isnan()
        return out.masked_fill(dead, 0.0), (~dead).to(out.dtype), lse


class trailing_split_reads_as_a_zero(Tiles):  # noqa: N801
    """Blocks are dealt to four splits, rounded up; splits left without any are never launched, and merge as one key of
    score 0.

    Five, six or nine blocks of 16 keys leave one over; four and eight do not.
    """

    def walk(self, q: Tensor, k: Tensor, v: Tensor, *rest: Any) -> tuple[Tensor, Tensor, Tensor]:
        blocks = -(-k.shape[-2] // self.block)
        self.idle = 4 - -(-blocks // -(-blocks // 4)) if blocks >= 4 else 0
        return super().walk(q, k, v, *rest)

    def finish(self, acc: Tensor, l: Tensor, m: Tensor) -> Tensor:  # noqa: E741
        return super().finish(acc, l + self.idle * torch.exp(-m) if self.idle else l, m)


class bias_of_the_tail_in_base_two(Tiles):  # noqa: N801
    """Scores are kept in base two, and the loop's peeled last block adds the bias as it is, without log2(e)."""

    def mask(self, s: Tensor, start: int, stop: int, attn_mask: Tensor | None, n_kv: int) -> Tensor:
        peeled = stop == n_kv and start > 0 and n_kv % self.block
        if attn_mask is None or attn_mask.dtype == torch.bool or not peeled:
            return super().mask(s, start, stop, attn_mask, n_kv)
        return super().mask(s, start, stop, math.log(2) * attn_mask, n_kv)


class last_chunk_slides_back(Tiles):  # noqa: N801
    """A slice beyond the end is moved back to fit, as lax.dynamic_slice does: keys of the last chunk are
    taken twice.
    """

    def edges(self, n_kv: int) -> list[tuple[int, int]]:
        found = super().edges(n_kv)
        return [*found[:-1], (n_kv - self.block, n_kv)] if n_kv > self.block else found


class log2e_of_five_digits(Tiles):  # noqa: N801
    """exp(x) is exp2(1.4427 x): a constant typed with five digits, 3e-6 of every difference of scores."""

    factor = 1.4427 * math.log(2)

    def rescale(self, m: Tensor, new: Tensor, start: int) -> Tensor:
        return torch.exp(self.factor * (m - new.masked_fill(new == -math.inf, 0.0)))

    def exponential(self, s: Tensor, m: Tensor) -> Tensor:
        return torch.exp(self.factor * (s - m.masked_fill(m == -math.inf, 0.0)))


class unscaled_product_saturates_in_float16(Tiles):  # noqa: N801
    """Q K^T leaves the matrix unit in float16 before it is scaled: above 65504 all keys are alike (PaddlePaddle/Paddle
    PR41933).
    """

    def scores(self, query: Tensor, key: Tensor, scale: float) -> Tensor:
        if self.dtype != torch.float16:
            return super().scores(query, key, scale)
        return scale * (query @ key.mT).clamp(-65504, 65504)

    def __call__(
        self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        self.dtype = query.dtype
        return super().__call__(query, key, value, attn_mask, is_causal, scale, enable_gqa)


# --- masks and causality --------------------------------------------------------------------------


def tiles_tested_at_their_corners() -> Any:
    """A 16 x 16 tile of a bool mask is skipped if its four corners are False, which is enough for causal ones and
    windows.
    """

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if mask is not None and mask.dtype == torch.bool and s.numel():
            mask = mask.expand(s.shape)
            at = [torch.arange(n) // 16 * 16 for n in s.shape[-2:]]
            ends = [(a + 15).clamp(max=n - 1) for a, n in zip(at, s.shape[-2:], strict=True)]
            corners = [mask[..., r, :][..., c] for r in (at[0], ends[0]) for c in (at[1], ends[1])]
            mask = mask & torch.stack(corners).any(0)
        return reference.bias(s, mask, causal)

    return build(bias=bias)


def mask_lowered_before_it_is_broadcast() -> Any:
    """Causality is `mask.tril()` where a bool mask is given: one row for all queries is left with its first key."""

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        one_row = mask is not None and mask.dim() > 1 and mask.shape[-2] == 1 and mask.shape[-1] == s.shape[-1]
        if one_row and mask is not None and mask.dtype == torch.bool and causal is not None:
            mask = mask.tril()
        return reference.bias(s, mask, causal)

    return build(bias=bias)


def bottom_right_for_each_chunk_of_queries() -> Any:
    """Queries go 32 at a time to a kernel that aligns every chunk at the last key; the last chunk alone
    belongs there.
    """

    def causal(n_q: int, n_kv: int) -> Tensor:
        rows = torch.arange(n_q)
        start = rows // 32 * 32
        length = (n_q - start).clamp(max=32)
        return torch.arange(n_kv) <= (rows - start + n_kv - length)[:, None]

    return build(causal_allowed=causal)


def one_key_needs_no_mask() -> Any:
    """The softmax over a single key is one, so its value is returned at once, also where the mask hides it."""

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        if key.shape[-2] != 1:
            return reference.correct(query, key, value, attn_mask, 0.0, is_causal, scale, enable_gqa)
        reference.check(query, key, value, attn_mask, enable_gqa)
        v = reference.expand(key, value, query.shape[-3])[1]
        return v.expand(*query.shape[:-1], v.shape[-1]) + 0.0 * (query.sum() + key.sum())

    return attention


# --- sizes, groups and views ----------------------------------------------------------------------


def scale_of_the_value_width() -> Any:
    """The default scale is 1/sqrt(d_v): right as long as values are as wide as keys."""

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        scale = max(value.shape[-1], 1) ** -0.5 if scale is None else scale
        return reference.correct(query, key, value, attn_mask, 0.0, is_causal, scale, enable_gqa)

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


# --- backward -------------------------------------------------------------------------------------


class Informed(Flash):
    """`Flash` whose steps of the backward know the dtype of the inputs, and whether the call is causal."""

    dtype, is_causal = torch.float32, False

    def backward(self, *saved: Any) -> list[Tensor | None]:
        self.dtype, self.is_causal = saved[0].dtype, saved[4]
        return super().backward(*saved)


class group_found_by_the_number_of_key_heads(Flash):  # noqa: N801
    """dK and dV find the key head by h // H_kv in place of h // group (XunhaoLai/native-sparse-attention-triton#27).

    Right where a group has as many heads as there are key heads; heads beyond the last are not written.
    """

    def over_group(self, x: Tensor, heads: int) -> Tensor:
        if heads in (1, x.shape[-3]):
            return super().over_group(x, heads)
        head = torch.arange(x.shape[-3]) // heads
        found = x.new_zeros(*x.shape[:-3], heads, *x.shape[-2:])
        return found.index_add(-3, head[head < heads], x[..., head < heads, :, :])


class diagonal_rows_missing_from_key_gradients(Informed):  # noqa: N801
    """The causal dK and dV of a block of keys start at the next tile of 32 queries: blocks at 16, 48, ... miss their
    diagonal.
    """

    def seen(self, x: Tensor, start: int) -> Tensor:
        """Without the rows between the block and the next tile of queries."""
        i = torch.arange(x.shape[-2])
        lost = (i >= start) & (i < -(-start // 32) * 32) & self.is_causal
        return x.masked_fill(lost[:, None], 0.0)

    def d_value(self, p: Tensor, c: Tensor, start: int) -> Tensor:
        return super().d_value(self.seen(p, start), c, start)

    def d_key(self, ds: Tensor, q: Tensor, scale: float, start: int) -> Tensor:
        return super().d_key(self.seen(ds, start), q, scale, start)


class query_gradient_skips_blocks_by_the_first_head(Flash):  # noqa: N801
    """dQ has a kernel of its own, which skips the blocks of keys that the first head's mask hides from all its rows."""

    def again(self, s: Tensor, lse: Tensor, start: int) -> Tensor:
        self.open = (s[..., :1, :, :] > -math.inf).flatten(-2).any(-1)[..., None, None]
        return super().again(s, lse, start)

    def add_query(self, dq: Tensor, part: Tensor, start: int) -> Tensor:
        return super().add_query(dq, part * self.open, start)


class mask_gradient_added_in_its_dtype(Informed):  # noqa: N801
    """The gradient of a shared mask is added up by atomics in the input's dtype: two-byte inputs lose small parts."""

    def d_mask(self, ds: Tensor, mask: Tensor) -> Tensor:
        if ds.element_size() == torch.empty((), dtype=self.dtype).element_size():
            return super().d_mask(ds, mask)
        shape = (1,) * (ds.dim() - mask.dim()) + mask.shape
        shared = [axis for axis, n in enumerate(shape) if n == 1 and ds.shape[axis] > 1]
        if not shared:
            return super().d_mask(ds, mask)
        parts = ds.to(self.dtype).movedim(shared, [*range(len(shared))]).flatten(0, len(shared) - 1)
        total = torch.zeros_like(parts[0])
        for part in parts:
            total = total + part
        return total.reshape(mask.shape)


class shared_key_and_value_counted_twice(Flash):  # noqa: N801
    """Where keys and values are one tensor, as in latent attention, dK and dV share a buffer, and both are
    handed over.
    """

    def backward(self, *saved: Any) -> list[Tensor | None]:
        found, (key, value) = super().backward(*saved), saved[1:3]
        if key.numel() and key.data_ptr() == value.data_ptr() and key.shape == value.shape:
            found[1] = found[2] = found[1] + found[2]  # type: ignore[operator]
        return found


class unseen_keys_keep_an_old_gradient(Flash):  # noqa: N801
    """Causal blocks of keys behind the last query are not visited: their dK and dV are what the call before
    left there.
    """

    def __init__(self) -> None:
        self.old: dict[Any, list[Tensor | None]] = {}

    def backward(self, *saved: Any) -> list[Tensor | None]:
        found, (query, key, value, _, is_causal) = super().backward(*saved), saved[:5]
        first, name = -(-query.shape[-2] // 16) * 16, (key.shape, value.shape, key.dtype)
        if is_causal and name in self.old:
            for i, old in enumerate(self.old[name][1:3], 1):
                found[i] = torch.cat([found[i][..., :first, :], old[..., first:, :]], -2)  # type: ignore[index]
        self.old[name] = found
        return found


WIDE: dict[str, Any] = {"accumulate": "float32"}
ROWS = (
    row(two_empty_splits_swallow_the_row, "hard", "second_sight", gradients=False, **WIDE),  # decoding alone
    *(row(make, "hard", "second_sight", **WIDE) for make in (
        trailing_split_reads_as_a_zero, bias_of_the_tail_in_base_two, last_chunk_slides_back, log2e_of_five_digits,
        unscaled_product_saturates_in_float16, tiles_tested_at_their_corners, mask_lowered_before_it_is_broadcast,
        one_key_needs_no_mask, scale_of_the_value_width, expanded_heads_lose_their_last_key,
        one_set_of_strides_for_query_and_key, group_found_by_the_number_of_key_heads,
        diagonal_rows_missing_from_key_gradients, query_gradient_skips_blocks_by_the_first_head,
        shared_key_and_value_counted_twice, unseen_keys_keep_an_old_gradient,
    )),
    row(bottom_right_for_each_chunk_of_queries, "hard", "second_sight", causal="bottom_right", **WIDE),
    row(mask_gradient_added_in_its_dtype, "hard", "second_sight", mask_gradient=True, **WIDE),
)  # fmt: skip
