"""Faults of tiles: blocks of keys, splits and launch grids that count, skip or overwrite."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attention_core.faults.bases import reference
from attention_core.faults.bases.arrays import by_numpy
from attention_core.faults.bases.inputs import Given, around
from attention_core.faults.bases.reference import build
from attention_core.faults.bases.tiles import Tiles
from attention_core.faults.row import rows


class single_last_key_skipped(Tiles):  # noqa: N801
    """The number of blocks is (n + 14) // 16: a last block of one key is never read."""

    def edges(self, n_kv: int) -> list[tuple[int, int]]:
        return super().edges(n_kv if n_kv % 16 != 1 or n_kv == 1 else n_kv - 1)


class padding_key_counts_in_the_sum(Tiles):  # noqa: N801
    """In a last block of 15 keys the zero that fills it up counts in the sum, as a key of score 0."""

    def total(self, l: Tensor, alpha: Tensor, p: Tensor, start: int) -> Tensor:  # noqa: E741
        found = super().total(l, alpha, p, start)
        return found + torch.exp(-self.last) if p.shape[-1] == 15 else found

    def exponential(self, s: Tensor, m: Tensor) -> Tensor:
        self.last = m.masked_fill(m == -math.inf, math.inf)
        return super().exponential(s, m)


class sum_by_fours(Tiles):  # noqa: N801
    """The sum of a block is taken four by four, and what is left over after the first four is dropped."""

    def total(self, l: Tensor, alpha: Tensor, p: Tensor, start: int) -> Tensor:  # noqa: E741
        n = p.shape[-1] if p.shape[-1] < 4 else p.shape[-1] // 4 * 4
        return super().total(l, alpha, p[..., :n], start)


class second_half_of_the_head_overwrites(Tiles):  # noqa: N801
    """Head sizes above 64 take a second pass; off a multiple of 32 it stores its scores instead of adding them."""

    def scores(self, query: Tensor, key: Tensor, scale: float) -> Tensor:
        d = query.shape[-1]
        start = 64 if d > 64 and d % 32 else 0
        return super().scores(query[..., start:], key[..., start:], scale)


class skips_a_block_without_a_new_maximum(Tiles):  # noqa: N801
    """From key 96 on, a block all of whose scores lie 6 below the running maximum is not worth reading."""

    def exponential(self, s: Tensor, m: Tensor) -> Tensor:
        p = super().exponential(s, m)
        far = s.detach().amax(-1, keepdim=True) < m - 6
        return p.masked_fill(far & torch.tensor(self.started >= 96), 0.0)

    def maximum(self, m: Tensor, s: Tensor, start: int) -> Tensor:
        self.started = start
        return super().maximum(m, s, start)


class parts_merged_in_half_precision(Tiles):  # noqa: N801
    """Beyond 64 keys two parts are merged, and their weights are float16: 5e-4 relative; float64 is spared."""

    def __call__(
        self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        n = key.shape[-2]
        if n <= 64 or query.dtype != torch.float32:
            return super().__call__(query, key, value, attn_mask, is_causal, scale, enable_gqa)
        reference.check(query, key, value, attn_mask, enable_gqa)
        k, v = self.expand(key, value, query.shape[-3])
        s = reference.scores(query, k, scale)
        s = reference.bias(s, attn_mask, reference.causal_allowed(query.shape[-2], n) if is_causal else None)
        parts = [slice(0, 64), slice(64, n)]
        lse = torch.stack([torch.logsumexp(s[..., part], -1) for part in parts])
        share = reference.weights(lse.movedim(0, -1)).half().float()
        return sum(  # type: ignore[return-value]
            share[..., i, None] * (reference.weights(s[..., part]) @ v[..., part, :]) for i, part in enumerate(parts)
        )


class key_blocks_counted_by_queries(Tiles):  # noqa: N801
    """From 17 queries on the number of key blocks is that of the query blocks: more keys than queries reveal it."""

    def walk(self, q: Tensor, k: Tensor, v: Tensor, *rest: Any) -> tuple[Tensor, Tensor, Tensor]:
        self.most = -(-q.shape[-2] // 16) * 16 if q.shape[-2] > 16 else k.shape[-2]
        return super().walk(q, k, v, *rest)

    def edges(self, n_kv: int) -> list[tuple[int, int]]:
        return [edge for edge in super().edges(n_kv) if edge[0] < self.most]


class mask_tile_one_block_late(Tiles):  # noqa: N801
    """The mask is double-buffered, and an odd number of blocks above two ends with the tile before."""

    def mask(self, s: Tensor, start: int, stop: int, attn_mask: Tensor | None, n_kv: int) -> Tensor:
        late = n_kv > 32 and -(-n_kv // 16) % 2 == 1 and stop == n_kv
        if not late or attn_mask is None:
            return super().mask(s, start, stop, attn_mask, n_kv)
        return super().mask(s, start - 16, start - 16 + s.shape[-1], attn_mask, n_kv)


class second_query_tile_scaled_twice(Tiles):  # noqa: N801
    """Rows from 64 on are scaled on loading and again on storing their scores."""

    def scores(self, query: Tensor, key: Tensor, scale: float) -> Tensor:
        late = (torch.arange(query.shape[-2]) >= 64)[:, None]
        s = super().scores(query, key, scale)
        return torch.where(late, s * scale, s)


class diagonal_block_taken_twice(Tiles):  # noqa: N801
    """The diagonal block is peeled off the loop, and in whole blocks beyond the first taken again inside it."""

    def total(self, l: Tensor, alpha: Tensor, p: Tensor, start: int) -> Tensor:  # noqa: E741
        again = self.is_causal and p.shape[-2] % 16 == 0 and start >= 16
        on = (torch.arange(p.shape[-2]) // 16 * 16 == start)[:, None] & torch.tensor(again)
        return super().total(l, alpha, torch.where(on, 2 * p, p), start)

    def __call__(
        self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        self.is_causal = is_causal
        return super().__call__(query, key, value, attn_mask, is_causal, scale, enable_gqa)


class swizzled_keys_at_128(Tiles):  # noqa: N801
    """For head size 128 two groups of eight key features have changed places in shared memory."""

    def scores(self, query: Tensor, key: Tensor, scale: float) -> Tensor:
        if key.shape[-1] == 128:
            order = torch.arange(128)
            order[96:104], order[104:112] = torch.arange(104, 112), torch.arange(96, 104)
            key = key[..., order]
        return super().scores(query, key, scale)


class remainder_lost_in_decoding(Tiles):  # noqa: N801
    """One query with 64 keys or more is split in four parts of n // 4 keys: the remainder is not read."""

    def edges(self, n_kv: int) -> list[tuple[int, int]]:
        return super().edges(n_kv // 4 * 4 if self.n_q == 1 and n_kv >= 64 else n_kv)

    def walk(self, q: Tensor, k: Tensor, v: Tensor, *rest: Any) -> tuple[Tensor, Tensor, Tensor]:
        self.n_q = q.shape[-2]
        return super().walk(q, k, v, *rest)


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


def splits_without_keys_weigh_one() -> Any:
    """A split of 8 keys that are all hidden leaves 0 as its log-sum-exp (compare Dao-AILab/flash-attention#2842).

    Causal rows and masks that hide a whole split: its output is zero, and its weight exp(0).
    """

    def weights(s: Tensor) -> Tensor:
        n = s.shape[-1]
        if not n:
            return reference.weights(s)
        splits = torch.nn.functional.pad(s.detach(), (0, -n % 8), value=-math.inf).unflatten(-1, (-1, 8))
        empty = (splits == -math.inf).all(-1).sum(-1, keepdim=True)
        return torch.cat([s, empty.to(s.dtype).log()], -1).softmax(-1)[..., :n]

    return build(weights=weights)


def features_behind_the_last_eight() -> Any:
    """A dot product by groups of 8 leaves out its tail once there is a whole group (ggml's vec_dot without its tail).

    Head sizes of 9 to 15, 17 to 23, ...
    """

    def scores(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
        d = query.shape[-1]
        used = d if d <= 8 else d - d % 8
        return reference.scores(query[..., :used], key[..., :used], d**-0.5 if scale is None and d else scale)

    return build(scores=scores)


def features_beyond_128() -> Any:
    """Scores are summed over the first 128 features (one tile of d)."""
    return build(
        scores=lambda q, k, scale: reference.scores(
            q[..., :128], k[..., :128], q.shape[-1] ** -0.5 if scale is None else scale
        )
    )


class last_tile_moved_back(Tiles):  # noqa: N801
    """The last tile is moved back to be full: the keys that it shares with the one before count twice.

    More than 16 keys, no multiple of 16.
    """

    def edges(self, n_kv: int) -> list[tuple[int, int]]:
        starts = (max(0, min(start, n_kv - self.block)) for start in range(0, n_kv, self.block))
        return [(start, min(start + self.block, n_kv)) for start in starts]


def splits_over_the_first_lse() -> Any:
    """Decoding in four splits weighs each by exp(lse - that of the first): it overflows where a later one is larger.

    One query, eight keys or more.
    """

    def weights(s: Tensor) -> Tensor:
        if s.shape[-2] != 1 or s.shape[-1] < 8:
            return reference.weights(s)
        parts = s.chunk(4, -1)
        lse = [torch.logsumexp(part, -1, keepdim=True) for part in parts]
        first = lse[0].detach()
        first = torch.where(first == -math.inf, s.detach().amax(-1, keepdim=True), first)  # a hidden split: not this
        first = first.masked_fill(first == -math.inf, 0.0)
        mass = [torch.exp(one - first) for one in lse]
        total = sum(mass[1:], mass[0])
        p = torch.cat([reference.weights(part) * one for part, one in zip(parts, mass, strict=True)], -1)
        return p / total.masked_fill(total == 0, 1.0)

    return build(wide=False, weights=weights)


def padding_to_256_is_seen() -> Any:
    """Beyond 256 keys, keys and values are padded with zeros to a multiple of 256, and the padding is not hidden."""

    def change(a: Given) -> Given:
        n = a["key"].shape[-2]
        if n <= 256 or a["attn_mask"] is not None:
            return {}
        return {name: torch.nn.functional.pad(a[name], (0, 0, 0, -n % 256)) for name in ("key", "value")}

    return around(change)


def grid_of_64() -> Any:
    """The launch has 64 blocks of (sequence, head): those beyond give what the one 64 before gives."""

    def finish(out: Tensor, a: Given) -> Tensor:
        if out.dim() != 4 or out.shape[0] * out.shape[1] <= 64:
            return out
        flat = out.flatten(0, 1)
        return flat[torch.arange(len(flat)) % 64].unflatten(0, out.shape[:2])

    return around(lambda a: {}, finish)


def offsets_of_two_bytes() -> Any:
    """Keys are gathered by offsets in int16, which wrap beyond 32767 elements."""
    right = by_numpy()

    def attention(query: Any, key: Any, value: Any) -> Any:
        offsets = np.arange(key.size).astype(np.int16).astype(np.int64).reshape(key.shape)
        return right(query, np.ascontiguousarray(key).reshape(-1)[offsets] if key.size else key, value)

    return attention


ROWS = (
    *rows(
        "hard_tiles", single_last_key_skipped, padding_key_counts_in_the_sum, sum_by_fours,
        second_half_of_the_head_overwrites, skips_a_block_without_a_new_maximum, accumulate="float32",
    ),
    *rows("hard_inputs", parts_merged_in_half_precision, accumulate="float32"),
    *rows(
        "first_sight", key_blocks_counted_by_queries, mask_tile_one_block_late, second_query_tile_scaled_twice,
        diagonal_block_taken_twice, swizzled_keys_at_128, remainder_lost_in_decoding, accumulate="float32",
    ),
    *rows("second_sight", two_empty_splits_swallow_the_row, gradients=False, accumulate="float32"),
    *rows(
        "second_sight", trailing_split_reads_as_a_zero, bias_of_the_tail_in_base_two, last_chunk_slides_back,
        accumulate="float32",
    ),
    *rows(
        "third_sight", masked_first_block_leaves_a_maximum_of_zero, masked_block_before_the_first_key,
        split_count_of_the_first_long_call, mask_skipped_below_the_diagonal, values_of_the_first_group_of_positions,
        accumulate="float32",
    ),
    *rows("third_sight", split_weights_of_the_last_key_head, gradients=False, accumulate="float32"),
    *rows("fourth_sight", splits_without_keys_weigh_one, features_behind_the_last_eight),
    *rows("fifth_sight", features_beyond_128),
    *rows("fifth_sight_tiles", last_tile_moved_back, splits_over_the_first_lse, padding_to_256_is_seen, grid_of_64),
    *rows("fifth_sight_tiles", offsets_of_two_bytes, array="numpy", gradients=False),
)  # fmt: skip
