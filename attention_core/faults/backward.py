"""Faults of a backward that runs in tiles, beside a forward that is right."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases import reference
from attention_core.faults.bases.reference import build
from attention_core.faults.bases.tiles import Flash
from attention_core.faults.row import rows


class key_gradient_of_the_tail_lost(Flash):  # noqa: N801
    """dK of a last block that is not full stays zero: lengths off a multiple of 16 alone."""

    def d_key(self, ds: Tensor, q: Tensor, scale: float, start: int) -> Tensor:
        found = super().d_key(ds, q, scale, start)
        return found if ds.shape[-1] == self.block or start == 0 else torch.zeros_like(found)


class query_gradient_stored_not_added(Flash):  # noqa: N801
    """From key 64 on dQ is stored where it should be added: only the last block counts."""

    def add_query(self, dq: Tensor, part: Tensor, start: int) -> Tensor:
        return part if start >= 64 else super().add_query(dq, part, start)


class delta_from_the_rounded_output(Flash):  # noqa: N801
    """The output is saved in bfloat16 for the backward's rowsum(dO o), for float32 inputs too: 1e-3 relative."""

    def saved_output(self, out: Tensor, dtype: torch.dtype) -> Tensor:
        return out.bfloat16().to(out.dtype)


class lse_saved_in_half_precision(Flash):  # noqa: N801
    """The log-sum-exp is saved in float16: weights of the backward are off by 1e-3, dV and dK with them."""

    def saved_lse(self, lse: Tensor, dtype: torch.dtype) -> Tensor:
        return lse.half().to(lse.dtype)


class backward_with_the_default_scale(Flash):  # noqa: N801
    """The scale is not passed to the backward, which computes 1/sqrt(d): a given scale reveals it."""

    def backward_scale(self, d: int, scale: float | None) -> float:
        return self.scale(d, None)


class mask_gradient_of_the_first_batch_row(Flash):  # noqa: N801
    """The gradient of a mask that is shared by the batch is that of the first batch row."""

    def d_mask(self, ds: Tensor, mask: Tensor) -> Tensor:
        shared = mask.dim() < 4 or mask.shape[0] == 1
        return super().d_mask(ds[:1] if ds.dim() == 4 and shared else ds, mask)


class query_gradient_needs_that_of_the_key(Flash):  # noqa: N801
    """With the key frozen the backward stops early, and the query gets no gradient either."""

    def hand_over(self, asked: tuple[bool, ...], found: list[Tensor | None]) -> list[Tensor | None]:
        given = super().hand_over(asked, found)
        if not asked[1] and given[0] is not None:
            given[0] = torch.zeros_like(given[0])
        return given


class causal_backward_as_if_square(Flash):  # noqa: N801
    """The backward skips causal pairs by min(n_q, n_kv): queries beyond the keys give them no gradient."""

    def backward_causal(self, start: int, stop: int, n_q: int, n_kv: int) -> Tensor:
        return self.causal(start, stop, n_q, n_kv) & (torch.arange(n_q) < max(n_kv, 1))[:, None]


class group_summed_in_the_input_dtype(Flash):  # noqa: N801
    """Gradients of a group are added by atomics in bfloat16, for float32 inputs too: 4e-3 relative, groups alone."""

    def over_group(self, x: Tensor, heads: int) -> Tensor:
        group = x.shape[-3] // heads
        if group == 1:
            return super().over_group(x, heads)
        parts = x.reshape(*x.shape[:-3], heads, group, *x.shape[-2:]).unbind(-3)
        total = parts[0].bfloat16()
        for part in parts[1:]:
            total = total + part.bfloat16()
        return total.to(x.dtype)


class group_of_three_loses_one(Flash):  # noqa: N801
    """A group is summed in pairs, and an odd one loses its last head: dK and dV, groups of three alone."""

    def over_group(self, x: Tensor, heads: int) -> Tensor:
        parts = x.reshape(*x.shape[:-3], heads, x.shape[-3] // heads, *x.shape[-2:])
        even = parts.shape[-3] // 2 * 2 or 1
        return parts[..., :even, :, :].sum(-3)


class small_weights_have_no_gradient(Flash):  # noqa: N801
    """The backward skips weights below 2^-8: keys that are hardly attended to learn nothing."""

    def again(self, s: Tensor, lse: Tensor, start: int) -> Tensor:
        p = super().again(s, lse, start)
        return p.masked_fill(p < 2.0**-8, 0.0)


class value_gradient_of_64_columns(Flash):  # noqa: N801
    """dV has tiles of 64 columns, and from the second one on they are stored one row further."""

    def d_value(self, p: Tensor, c: Tensor, start: int) -> Tensor:
        found = super().d_value(p, c, start)
        return torch.cat([found[..., :64], found[..., 64:].roll(1, -2)], -1)


class delta_of_the_first_64_columns(Flash):  # noqa: N801
    """rowsum(dO o) runs over the first 64 columns: d_v up to 64 hides it, and dV is right."""

    def delta(self, out: Tensor, c: Tensor) -> Tensor:
        return super().delta(out[..., :64], c[..., :64])


class small_score_gradients_flushed(Flash):  # noqa: N801
    """The gradient of the scores is stored in a format that has nothing below 2^-12."""

    def d_scores(self, p: Tensor, dp: Tensor, delta: Tensor) -> Tensor:
        ds = super().d_scores(p, dp, delta)
        return torch.where(ds.abs() < 2.0**-12, 0.0, ds)


class backward_of_the_last_call(Flash):  # noqa: N801
    """The mask lies on the kernel, not in the graph: a call between forward and backward changes the gradients."""

    last: Any = None

    def __call__(  # type: ignore[override]
        self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None
    ) -> Tensor:
        self.last = attn_mask
        return super().__call__(query, key, value, attn_mask)

    def backward(self, *saved: Any) -> list[Tensor | None]:
        mask = self.last if saved[3] is not None else None
        return super().backward(*saved[:3], mask, *saved[4:])  # type: ignore[call-arg]


class backward_destroys_what_it_saved(Flash):  # noqa: N801
    """The backward turns its saved log-sum-exp into scratch: a second backward through the same graph is wrong."""

    def backward(self, *saved: Any) -> list[Tensor | None]:
        found = super().backward(*saved)
        saved[7].data.mul_(0.5)
        return found


class rows_skipped_by_the_first_sequence(Flash):  # noqa: N801
    """Rows with a zero cotangent are skipped, and the first sequence decides for all."""

    def backward(self, *saved: Any) -> list[Tensor | None]:
        cotangent = saved[8]
        if cotangent.dim() == 4:
            alive = (cotangent[:1] != 0).any(-1, keepdim=True)
            cotangent = cotangent * alive
        return super().backward(*saved[:8], cotangent)  # type: ignore[call-arg]


class float64_gradients_in_float32(Flash):  # noqa: N801
    """Gradients of float64 inputs go through float32: 1e-7 relative."""

    def over_group(self, x: Tensor, heads: int) -> Tensor:
        return super().over_group(x, heads).float().to(x.dtype)


class mask_gradient_of_sixteen_rows(Flash):  # noqa: N801
    """The gradient of a mask that all rows share is the sum over the first tile of 16 rows."""

    def d_mask(self, ds: Tensor, mask: Tensor) -> Tensor:
        shared = mask.dim() < 2 or mask.shape[-2] == 1
        return super().d_mask(ds[..., :16, :] if shared else ds, mask)


class causal_gradient_of_the_diagonal_halved(Flash):  # noqa: N801
    """The diagonal is weighed by one half in the backward's causal tile, from row 16 on."""

    def again(self, s: Tensor, lse: Tensor, start: int) -> Tensor:
        p = super().again(s, lse, start)
        rows, keys = torch.arange(s.shape[-2])[:, None], start + torch.arange(s.shape[-1])
        return torch.where((rows == keys) & (rows >= 16) & torch.tensor(self.is_causal), 0.5 * p, p)

    def __call__(
        self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        self.is_causal = is_causal
        return super().__call__(query, key, value, attn_mask, is_causal, scale, enable_gqa)


def gradient_of_dropped_scores_unscaled() -> Any:
    """The scores' gradient goes through the dropout mask, and not through its factor 1/(1 - p)."""

    def drop(p: Tensor, rate: float) -> Tensor:
        if not 0 < rate < 1:
            return reference.drop(p, rate)
        dropped = p * (torch.rand_like(p) >= rate)
        return dropped + dropped.detach() * (1 / (1 - rate) - 1)

    return build(drop=drop)


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


class value_gradient_spills_into_the_next_head(Flash):  # noqa: N801
    """The last tile of dV is stored whole: its empty rows overwrite the first rows of the next head
    (flagos-ai/FlagGems PR898).

    Two key heads or more and a length off a multiple of 16: so many rows as are missing are zero, but for the first
    head.
    """

    def backward(self, *saved: Any) -> list[Tensor | None]:
        dq, dk, dv, db = super().backward(*saved)
        assert dv is not None
        over = -dv.shape[-2] % 16
        hit = (torch.arange(dv.shape[-3]) > 0)[:, None, None] & (torch.arange(dv.shape[-2]) < over)[:, None]
        return [dq, dk, dv.masked_fill(hit, 0.0), db]


class delta_found_in_another_tile(Flash):  # noqa: N801
    """rowsum(dO o) is stored with sequences padded to 32 rows and read with 16 (Dao-AILab/flash-attention PR2337).

    dQ and dK of every sequence but the first, unless the number of queries leaves a remainder of 0 or above 16 by 32.
    """

    def delta(self, out: Tensor, c: Tensor) -> Tensor:
        found = super().delta(out, c)
        if found.dim() != 4 or not found.numel():
            return found
        B, _, n, _ = found.shape
        wide, narrow = -(-n // 32) * 32, -(-n // 16) * 16
        stored = torch.nn.functional.pad(found[..., 0], (0, wide - n)).transpose(0, 1).flatten(1)
        return stored[:, torch.arange(B)[:, None] * narrow + torch.arange(n)].transpose(0, 1)[..., None]


class value_gradient_in_chunks_of_the_key_width(Flash):  # noqa: N801
    """dV's two halves are stored in chunks of gcd(32, d / 2) columns, a width made for dK
    (Dao-AILab/flash-attention#2552).

    Head sizes of 16 and more, even, whose d_v / 2 is no multiple of it: the last, partial chunk lies one column
    further.
    """

    def backward(self, *saved: Any) -> list[Tensor | None]:
        dq, dk, dv, db = super().backward(*saved)
        assert dv is not None
        d, half = saved[0].shape[-1], dv.shape[-1] // 2
        if d < 16 or d % 2:
            return [dq, dk, dv, db]
        whole = half // math.gcd(32, d // 2) * math.gcd(32, d // 2)
        order = torch.arange(dv.shape[-1])
        for start in (0, half):
            order[start + whole : start + half] = order[start + whole : start + half].roll(1)
        return [dq, dk, dv[..., order], db]


class keys_transposed_twice_in_the_backward(Flash):  # noqa: N801
    """The backward gets keys and values with heads and tokens exchanged once too often (huggingface/diffusers PR14341).

    As many keys as key heads: other shapes are noticed, and exchanged back. The forward is right.
    """

    def backward(self, query: Tensor, key: Tensor, value: Tensor, *saved: Any) -> list[Tensor | None]:
        if key.shape[-3] != key.shape[-2]:
            return super().backward(query, key, value, *saved)
        found = super().backward(query, key.transpose(-3, -2), value.transpose(-3, -2), *saved)
        return [g if g is None or i not in (1, 2) else g.transpose(-3, -2) for i, g in enumerate(found)]


class nan_query_gradient_above_the_first_key(Flash):  # noqa: N801
    """Rows that stand before the first key get a query gradient of NaN; outputs, dK and dV are right
    (Dao-AILab/flash-attention#443).

    Bottom right is declared: causal calls with more queries than keys.
    """

    def causal(self, start: int, stop: int, n_q: int, n_kv: int) -> Tensor:
        return torch.arange(start, stop) <= torch.arange(n_q)[:, None] + n_kv - n_q

    def backward(self, *saved: Any) -> list[Tensor | None]:
        dq, dk, dv, db = super().backward(*saved)
        query, key, is_causal = saved[0], saved[1], saved[4]
        above = torch.arange(query.shape[-2]) < query.shape[-2] - key.shape[-2]
        assert dq is not None
        return [dq.masked_fill(above[:, None], math.nan) if is_causal and key.shape[-2] else dq, dk, dv, db]


class no_queries_leave_key_gradients_unwritten(Flash):  # noqa: N801
    """Without any query the backward returns before it clears dK and dV (ROCm/flash-attention PR179); ones stand for
    what memory held.

    n_q = 0 and keys that ask for a gradient.
    """

    def backward(self, *saved: Any) -> list[Tensor | None]:
        dq, dk, dv, db = super().backward(*saved)
        if saved[0].shape[-2] or dk is None or dv is None:
            return [dq, dk, dv, db]
        return [dq, torch.ones_like(dk), torch.ones_like(dv), db]


class value_gradient_of_a_fused_projection(Flash):  # noqa: N801
    """dV is written as (B, H, n, d) into memory that lies as the values do (Dao-AILab/flash-attention#2541).

    Values that are a slice of one projection to queries, keys and values, with heads behind tokens; packed ones are
    right.
    """

    def backward(self, *saved: Any) -> list[Tensor | None]:
        dq, dk, dv, db = super().backward(*saved)
        value = saved[2]
        assert dv is not None
        H, n, d = value.shape[-3:]
        if not (H > 1 and n > 1 and value.stride(-3) < value.stride(-2) and value.stride(-2) > H * d):
            return [dq, dk, dv, db]
        return [dq, dk, dv.reshape(*value.shape[:-3], n, H, d).transpose(-3, -2), db]


class backward_aligned_top_left(Flash):  # noqa: N801
    """The forward is causal from the last key, the backward from the first (xlite-dev/ffpa-attn PR300).

    Bottom right is declared: gradients of causal calls with another number of keys than of queries.
    """

    def causal(self, start: int, stop: int, n_q: int, n_kv: int) -> Tensor:
        return torch.arange(start, stop) <= torch.arange(n_q)[:, None] + n_kv - n_q

    def backward_causal(self, start: int, stop: int, n_q: int, n_kv: int) -> Tensor:
        return super().causal(start, stop, n_q, n_kv)


class mask_gradient_times_the_scale(Flash):  # noqa: N801
    """The gradient of a mask is multiplied by the scale, which the mask never was (dQ's factor taken too early).

    A float mask that asks for a gradient; a scale of 1 hides it.
    """

    def backward_scale(self, d: int, scale: float | None) -> float:
        self.factor = super().backward_scale(d, scale)
        return self.factor

    def d_mask(self, ds: Tensor, mask: Tensor) -> Tensor:
        return self.factor * super().d_mask(ds, mask)


class cotangent_by_the_strides_of_the_output(Flash):  # noqa: N801
    """The backward reads the incoming gradient with the output's strides (ROCm/aotriton#236).

    A gradient that lies otherwise, as after out.transpose(1, 2).
    """

    def backward(self, *saved: Any) -> list[Tensor | None]:
        *before, out, lse, c = saved
        if c.untyped_storage().nbytes() // c.element_size() - c.storage_offset() >= c.numel():
            c = torch.as_strided(c, c.shape, out.stride())
        return super().backward(*before, out, lse, c)  # type: ignore[call-arg]


class cotangent_read_as_contiguous(Flash):  # noqa: N801
    """The incoming gradient is read from its storage's start as if it were contiguous.

    A gradient that lies otherwise, as after out.transpose(1, 2).
    """

    def backward(self, *saved: Any) -> list[Tensor | None]:
        *before, c = saved
        if not c.is_contiguous() and c.untyped_storage().nbytes() >= c.numel() * c.element_size():
            c = c.as_strided(c.shape, torch.empty(c.shape, device="meta").stride(), 0)
        return super().backward(*before, c)  # type: ignore[call-arg]


class mask_gradient_of_the_first_head(Flash):  # noqa: N801
    """The gradient of a mask that is broadcast over heads is that of the first head."""

    def d_mask(self, ds: Tensor, mask: Tensor) -> Tensor:
        first = mask.dim() >= 3 and mask.shape[-3] == 1
        return super().d_mask(ds[..., :1, :, :] if first else ds, mask)


class delta_from_an_output_of_two_bytes(Flash):  # noqa: N801
    """D = rowsum(dO o) takes the output rounded to bfloat16.

    float32 between is declared; gradients of float32 and float16.
    """

    def saved_output(self, out: Tensor, dtype: torch.dtype) -> Tensor:
        return out.bfloat16()


ROWS = (
    *rows(
        "hard_backward", key_gradient_of_the_tail_lost, query_gradient_stored_not_added,
        delta_from_the_rounded_output, lse_saved_in_half_precision, backward_with_the_default_scale,
        query_gradient_needs_that_of_the_key, causal_backward_as_if_square, group_summed_in_the_input_dtype,
        group_of_three_loses_one, small_weights_have_no_gradient, value_gradient_of_64_columns,
        delta_of_the_first_64_columns, small_score_gradients_flushed, backward_of_the_last_call,
        accumulate="float32",
    ),
    *rows("hard_backward", mask_gradient_of_the_first_batch_row, accumulate="float32", mask_gradient=True),
    *rows(
        "first_sight", backward_destroys_what_it_saved, rows_skipped_by_the_first_sequence,
        float64_gradients_in_float32, causal_gradient_of_the_diagonal_halved, accumulate="float32",
    ),
    *rows("first_sight", mask_gradient_of_sixteen_rows, mask_gradient=True, accumulate="float32"),
    *rows("first_sight_others", gradient_of_dropped_scores_unscaled),
    *rows(
        "second_sight", group_found_by_the_number_of_key_heads, diagonal_rows_missing_from_key_gradients,
        query_gradient_skips_blocks_by_the_first_head, shared_key_and_value_counted_twice,
        unseen_keys_keep_an_old_gradient, accumulate="float32",
    ),
    *rows("second_sight", mask_gradient_added_in_its_dtype, mask_gradient=True, accumulate="float32"),
    *rows(
        "third_sight_backward", value_gradient_spills_into_the_next_head, delta_found_in_another_tile,
        value_gradient_in_chunks_of_the_key_width, keys_transposed_twice_in_the_backward,
        no_queries_leave_key_gradients_unwritten, value_gradient_of_a_fused_projection, accumulate="float32",
    ),
    *rows(
        "third_sight_backward", nan_query_gradient_above_the_first_key, causal="bottom_right", accumulate="float32",
    ),
    *rows("fourth_sight_backward", backward_aligned_top_left, causal="bottom_right"),
    *rows("fourth_sight_backward", mask_gradient_times_the_scale, mask_gradient=True),
    *rows("fourth_sight_backward", cotangent_by_the_strides_of_the_output),
    *rows("fifth_sight_backward", cotangent_read_as_contiguous),
    *rows("fifth_sight_backward", mask_gradient_of_the_first_head, mask_gradient=True),
    *rows(
        "fifth_sight_backward", delta_from_an_output_of_two_bytes, accumulate="float32",
        dtypes=("float16", "bfloat16", "float32"),
    ),
)  # fmt: skip
