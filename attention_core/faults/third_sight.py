"""A third set of faults of attention, most of them reported in public, written when the laws were frozen and unseen.

Their rate of refutation at first sight is in experiments/power/first_sight.json. They stay as they were written.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases import reference
from attention_core.faults.bases.reference import build
from attention_core.faults.bases.tiles import Tiles
from attention_core.faults.row import row

# --- tiles and splits -----------------------------------------------------------------------------


class masked_first_block_leaves_a_maximum_of_zero(Tiles):  # noqa: N801
    """Blocks go from the last key to the first, and one that is masked throughout sets the maximum to 0
    (Dao-AILab/flash-attention#2082).

    It stays 0 where what follows is lower: 17 keys or more, causal or masked behind, scores below -104 come out as
    zeros.
    """

    def edges(self, n_kv: int) -> list[tuple[int, int]]:
        return super().edges(n_kv)[::-1]

    def maximum(self, m: Tensor, s: Tensor, start: int) -> Tensor:
        new = super().maximum(m, s, start)
        return new.masked_fill(new == -math.inf, 0.0)


class masked_block_before_the_first_key(Tiles):  # noqa: N801
    """exp(-inf - -inf) is NaN, and a row that is masked in its whole first block keeps it (pytorch/pytorch PR130014).

    Padding on the left of 16 keys or more shows it; rows without any key are looked for, and are zero.
    """

    def exponential(self, s: Tensor, m: Tensor) -> Tensor:
        return super().exponential(s, m).masked_fill(m == -math.inf, math.nan)

    def finish(self, acc: Tensor, l: Tensor, m: Tensor) -> Tensor:  # noqa: E741
        dead = m == -math.inf
        return super().finish(acc.masked_fill(dead, 0.0), l.masked_fill(dead, 0.0), m)


class split_weights_of_the_last_key_head(Tiles):  # noqa: N801
    """The log-sum-exps of two parts are stored without the key head's stride: the last one stays (Tencent/hpc-ops PR6).

    One query, 32 keys or more and two key heads or more: every other group's parts are merged by that one's weights.
    """

    part: int | None = None

    def expand(self, key: Tensor, value: Tensor, heads: int) -> tuple[Tensor, Tensor]:
        self.key_heads = key.shape[-3]
        return super().expand(key, value, heads)

    def edges(self, n_kv: int) -> list[tuple[int, int]]:
        found = super().edges(n_kv)
        half = len(found) // 2
        return found if self.part is None else found[:half] if self.part == 0 else found[half:]

    def walk(self, q: Tensor, k: Tensor, v: Tensor, *rest: Any) -> tuple[Tensor, Tensor, Tensor]:
        if q.shape[-2] != 1 or k.shape[-2] < 32 or self.key_heads < 2:
            return super().walk(q, k, v, *rest)
        outs, stored, l = [], [], q  # noqa: E741
        for self.part in range(2):
            acc, l, m = super().walk(q, k, v, *rest)  # noqa: E741
            outs.append(acc / l.masked_fill(l == 0, 1.0))
            stored.append(m + torch.log(l))
        self.part = None
        lse = torch.cat(stored, -1)
        last = lse[..., -(q.shape[-3] // self.key_heads) :, :, :]
        share = reference.weights(torch.cat([last] * self.key_heads, -3))
        return share[..., :1] * outs[0] + share[..., 1:] * outs[1], torch.ones_like(l), lse.amax(-1, keepdim=True)


class split_count_of_the_first_long_call(Tiles):  # noqa: N801
    """The number of splits is compiled in, and the key of the kernels' cache says only whether it is above one
    (NVIDIA/recsys-examples PR379).

    One query: after a call with 33 to 64 keys one with more loses the splits behind the second; the other order is
    right.
    """

    compiled = 0

    def edges(self, n_kv: int) -> list[tuple[int, int]]:
        found, wanted = super().edges(n_kv), min(4, -(-n_kv // 32))
        if self.n_q != 1 or wanted < 2:
            return found
        self.compiled = self.compiled or wanted
        return found[: self.compiled * -(-len(found) // wanted)]

    def walk(self, q: Tensor, k: Tensor, v: Tensor, *rest: Any) -> tuple[Tensor, Tensor, Tensor]:
        self.n_q = q.shape[-2]
        return super().walk(q, k, v, *rest)


class mask_skipped_below_the_diagonal(Tiles):  # noqa: N801
    """Causal blocks wholly below the diagonal take the loop without masking, and the caller's mask is skipped with it.

    Causal calls with a mask or a bias: rows from 16 on see the first 16 keys as if there were none.
    """

    def mask(self, s: Tensor, start: int, stop: int, attn_mask: Tensor | None, n_kv: int) -> Tensor:
        whole = (torch.arange(s.shape[-2]) // 16 * 16 >= stop) & torch.tensor(self.is_causal)
        return torch.where(whole[:, None], s, super().mask(s, start, stop, attn_mask, n_kv))

    def walk(self, q: Tensor, k: Tensor, v: Tensor, *rest: Any) -> tuple[Tensor, Tensor, Tensor]:
        self.is_causal = rest[1]
        return super().walk(q, k, v, *rest)


class maximum_before_a_negative_scale(Tiles):  # noqa: N801
    """The maximum is that of the unscaled scores, times the scale: a negative scale makes it the minimum.

    Exponentials above 1 cancel until they overflow: negative scales and rows whose scores lie 89 apart give NaN.
    """

    def scale(self, d: int, scale: float | None) -> float:
        self.negative = scale is not None and scale < 0
        return super().scale(d, scale)

    def maximum(self, m: Tensor, s: Tensor, start: int) -> Tensor:
        if not self.negative:
            return super().maximum(m, s, start)
        low = s.detach().masked_fill(s == -math.inf, math.inf).amin(-1, keepdim=True)
        low = torch.minimum(low, m.masked_fill(m == -math.inf, math.inf))
        return low.masked_fill(low == math.inf, -math.inf)


# --- heads, groups and layouts --------------------------------------------------------------------


Key = tuple[Tensor, Tensor]


def changed(change: Any) -> Any:
    """Correct attention of what `change(query, key, value)` makes of keys and values, after the checks."""

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        reference.check(query, key, value, attn_mask, enable_gqa)
        key, value = change(query, key, value)
        return reference.correct(query, key, value, attn_mask, 0.0, is_causal, scale, enable_gqa)

    return attention


def decoding_tiles_cross_the_group() -> Any:
    """Decoding takes two query heads at a time, and finds the key head by the tile's number (FlashML-org/FreeToken
    PR177).

    One query and groups of three, five, ... : the tile across the end of a group reads its second head's keys one head
    early.
    """

    def change(query: Tensor, key: Tensor, value: Tensor) -> Key:
        group = query.shape[-3] // max(key.shape[-3], 1)
        if query.shape[-2] != 1 or group < 3:
            return key, value
        index = torch.arange(query.shape[-3]) // 2 // -(-group // 2)
        return key[..., index, :, :], value[..., index, :, :]

    return changed(change)


def head_offset_from_a_quotient_of_strides() -> Any:
    """A head's first row is found by stride_h // stride_n: n in (B, H, n, d), 0 in a transposed view
    (BobMcDear/attorch#14).

    Keys or values that lie as (B, n, H, d): every head reads the first one's.
    """

    def first(x: Tensor) -> Tensor:
        inside = x.shape[-3] > 1 and 0 < x.stride(-3) < x.stride(-2)
        return x[..., :1, :, :].expand_as(x) if inside else x

    return changed(lambda query, key, value: (first(key), first(value)))


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


def values_of_the_first_group_of_positions() -> Any:
    """Weighted values are summed by G = ceil(n_kv / d_v) groups of threads, of which only the first exists
    (timtoole02/Camelid PR714).

    Value heads of 32 and more with more keys than that: the first 1/G of the keys counts in the output, all in the sum.
    """

    def combine(p: Tensor, value: Tensor) -> Tensor:
        n, d = value.shape[-2:]
        last = -(-n // -(-n // d)) if n > d >= 32 else n
        return reference.combine(p[..., :last], value[..., :last, :])

    return build(combine=combine)


# --- masks ----------------------------------------------------------------------------------------


def mask_of_the_first_sequence_for_few_queries() -> Any:
    """The kernel for up to eight queries steps through masks by (b H + h) times the head's stride, which is 0
    (pytorch/pytorch PR184180).

    A mask (B, 1, n_q, n_kv) beside two heads or more: every sequence gets the first one's.
    """

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if mask is not None and mask.dim() == 4 and mask.shape[1] == 1 and s.shape[-3] > 1 and s.shape[-2] <= 8:
            mask = mask[:1]
        return reference.bias(s, mask, causal)

    return build(bias=bias)


def bias_scaled_in_decoding() -> Any:
    """The decoding kernel adds the bias before it scales: it counts 1/sqrt(d) times (tenstorrent/tt-metal PR56406).

    One query and a float mask with finite entries; a head of one feature, or a scale of 1, hides it.
    """

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        if attn_mask is not None and attn_mask.dtype != torch.bool and query.shape[-2] == 1:
            factor = query.shape[-1] ** -0.5 if scale is None else scale
            attn_mask = torch.where(attn_mask.isinf(), attn_mask, factor * attn_mask)
        return reference.correct(query, key, value, attn_mask, 0.0, is_causal, scale, enable_gqa)

    return attention


def full_mask_turns_causality_off() -> Any:
    """A bool mask that hides nothing is dropped as nothing to do, and what it is combined with is dropped too.

    Causal calls with a mask of True throughout see the future.
    """

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        idle = mask is not None and mask.dtype == torch.bool and bool(mask.all())
        return s if idle else reference.bias(s, mask, causal)

    return build(bias=bias)


def masks_of_two_batch_axes_tiled() -> Any:
    """Two batch axes are folded into one, and a mask of the outer one is repeated behind itself, not element by
    element.

    Inputs (B1, B2, H, n, d) with both above one and a mask (B1, 1, ...) that differs along the first axis.
    """

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if mask is not None and mask.dim() == 5 and mask.shape[0] > 1 and mask.shape[1] == 1 < s.shape[1]:
            mask = mask[:, 0].repeat(s.shape[1], 1, 1, 1).unflatten(0, tuple(s.shape[:2]))
        return reference.bias(s, mask, causal)

    return build(bias=bias)


WIDE: dict[str, Any] = {"accumulate": "float32"}
ROWS = (
    row(split_weights_of_the_last_key_head, "hard", "third_sight", gradients=False, **WIDE),  # decoding alone
    *(row(make, "hard", "third_sight", **WIDE) for make in (
        masked_first_block_leaves_a_maximum_of_zero, masked_block_before_the_first_key,
        split_count_of_the_first_long_call, mask_skipped_below_the_diagonal, maximum_before_a_negative_scale,
        decoding_tiles_cross_the_group, head_offset_from_a_quotient_of_strides, innermost_stride_taken_for_one,
        values_of_the_first_group_of_positions, mask_of_the_first_sequence_for_few_queries, bias_scaled_in_decoding,
        full_mask_turns_causality_off, masks_of_two_batch_axes_tiled,
    )),
)  # fmt: skip
