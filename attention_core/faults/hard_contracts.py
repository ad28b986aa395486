"""Hard faults of the other contracts: caches, masks, rotary tables, biases, heads, modules.

All of our making; each is the correct one of its contract with one change.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from attention_core.faults import bias, lse, position_table, rotary, split_merge_heads
from attention_core.faults.bases import reference
from attention_core.faults.kv_cache import Cache
from attention_core.faults.mask_builder import positions
from attention_core.faults.multi_head import MultiHead
from attention_core.faults.row import row

# --- caches ---------------------------------------------------------------------------------------


class chunk_wraps_at_the_end_of_a_page(Cache):  # noqa: N801
    """Pages hold 16 tokens; a chunk that crosses the end of one is written from that page's start on."""

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        old, n = len(self.places), key.shape[-2]
        k, v = super().append(key, value)
        place = torch.arange(old + n)
        crossing = old % 16 + n > 16 and old % 16 > 0 and n <= 16
        if crossing:
            first = old // 16 * 16
            for t in range(16 - old % 16, n):
                place[first + (old % 16 + t) % 16] = old + t
        return k[..., place, :], v[..., place, :]


class short_chunks_are_not_causal(Cache):  # noqa: N801
    """Chunks of two to four tokens take the decoding kernel, which lets them see one another."""

    def allowed(self, own: Tensor, places: Tensor) -> Tensor:
        allow = super().allowed(own, places)
        return allow | (places >= own[0]) if 2 <= len(own) <= 4 and len(places) > len(own) else allow


class cached_keys_in_bfloat16(Cache):  # noqa: N801
    """Keys are cached in bfloat16, for float32 inputs too: 4e-3 relative, the newest tokens are exact."""

    def keep(self, key: Tensor, value: Tensor) -> None:
        super().keep(key, value)
        self.kept[0] = self.kept[0].bfloat16().to(key.dtype)


class second_page_survives_a_reset(Cache):  # noqa: N801
    """reset() frees the first page of 8 tokens; later pages still hold the keys of the sequence before."""

    def reset(self) -> None:
        self.old = list(getattr(self, "kept", [])) or getattr(self, "old", [])
        super().reset()

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        k, v = super().append(key, value)
        if self.old and self.old[0].shape[:-2] == k.shape[:-2] and self.old[0].shape[-1] == k.shape[-1]:
            n = min(k.shape[-2] - key.shape[-2], self.old[0].shape[-2])  # new tokens are written before they are read
            k = torch.cat([k[..., :8, :], self.old[0][..., 8:n, :].to(k.dtype), k[..., max(8, n) :, :]], -2)
        return k, v


class eviction_in_pages(Cache):  # noqa: N801
    """A window is kept by throwing away pages of 8, and the mask trusts that: up to 7 tokens too many are seen."""

    def allowed(self, own: Tensor, places: Tensor) -> Tensor:
        first = (own[:, None] - self.window + 1).clamp(min=0) // 8 * 8  # type: ignore[operator]
        return (places <= own[:, None]) & (places >= first)

    def keep(self, key: Tensor, value: Tensor) -> None:
        self.kept = [key, value]


# --- masks ----------------------------------------------------------------------------------------


def lengths_in_bytes(n_q: int, n_kv: int, lengths: Tensor) -> Tensor:
    """Lengths are signed bytes: 128 keys and more are none."""
    return (torch.arange(n_kv) < lengths.to(torch.int8)[:, None])[:, None, None].repeat(1, 1, n_q, 1)


def returning_documents_are_new(n_q: int, n_kv: int, ids: Tensor) -> Tensor:
    """Documents are counted by the changes of their id: one whose id comes back later is taken for another one."""
    changed = torch.nn.functional.pad(ids[:, 1:] != ids[:, :-1], (1, 0)).cumsum(-1)
    return (changed[:, :n_q, None] == changed[:, None, :n_kv])[:, None]


def window_in_blocks_of_eight(n_q: int, n_kv: int, W: int, align: str = "top_left") -> Tensor:
    """A window above 8 is rounded up to a multiple of 8."""
    i, j = positions(n_q, n_kv, align)
    return (i - j < (W if W <= 8 else -(-W // 8) * 8)) & (j <= i)


def prefix_no_longer_than_the_queries(n_q: int, n_kv: int, P: int, align: str = "top_left") -> Tensor:
    """The prefix is cut to n_q: fewer queries than keys in the prefix reveal it."""
    i, j = positions(n_q, n_kv, align)
    return (j < min(P, n_q)) | (j <= i)


# --- positions ------------------------------------------------------------------------------------


def consecutive_positions_assumed(x: Tensor, positions: Tensor) -> Tensor:
    """A fast path for positions that start at 0 takes them for 0, 1, 2, ..."""
    row = positions.reshape(-1, positions.shape[-1])
    if row.shape[-1] and bool((row[:, 0] == 0).all()):
        positions = torch.arange(positions.shape[-1]).expand_as(positions)
    return rotary.correct(x, positions)


def frequencies_in_bfloat16(x: Tensor, positions: Tensor) -> Tensor:
    """The inverse frequencies are a buffer that `.to(bfloat16)` has reached: angles of far positions are off."""
    angle = positions.float()[..., None] * rotary.frequencies(x.shape[-1]).bfloat16().float()
    cos, sin = torch.cat([angle, angle], -1).cos(), torch.cat([angle, angle], -1).sin()
    return rotary.turn(x.to(torch.promote_types(x.dtype, torch.float32)), cos, sin).to(x.dtype)


def positions_in_sixteen_bits(x: Tensor, positions: Tensor) -> Tensor:
    """Positions are short integers: from 32768 on they are negative."""
    return rotary.correct(x, positions.to(torch.int16).to(torch.int64))


def odd_half_turned_short(x: Tensor, positions: Tensor) -> Tensor:
    """Head sizes 4 c + 2 are turned in pairs of pairs, and the last pair is left where it was: multiples of
    4 hide it.
    """
    y, d = rotary.correct(x, positions), x.shape[-1]
    if d % 4 == 2 and d > 2:
        y = y.clone()
        y[..., [d // 2 - 1, d - 1]] = x[..., [d // 2 - 1, d - 1]]
    return y


def slopes_in_half_precision(H: int, n_q: int, n_kv: int) -> Tensor:
    """Slopes are float16: powers of two hide it, and other head counts are 5e-4 off."""
    return bias.with_slopes(bias.slopes(H).half().float(), n_q, n_kv)


def distances_from_the_row_tile(H: int, n_q: int, n_kv: int) -> Tensor:
    """From row 32 on distances are counted from the tile's first row."""
    own = torch.arange(n_kv - n_q, n_kv)[:, None]
    own = torch.where(torch.arange(n_q)[:, None] < 32, own, own - torch.arange(n_q)[:, None] % 32)
    return -bias.slopes(H)[:, None, None] * (own - torch.arange(n_kv))


def frequencies_in_half_precision(n: int, d: int) -> Tensor:
    """Frequencies are float16, angles float32: early rows hide it."""
    frequency = torch.exp(torch.arange(0, d, 2).float() * -(math.log(10000.0) / d)).half().float()
    angle = torch.arange(n).float()[:, None] * frequency
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)[:, :d]


def table_repeats_after_256(n: int, d: int) -> Tensor:
    """The table has 256 rows, and later positions begin anew."""
    return position_table.correct(min(n, 256), d)[torch.arange(n) % 256]


# --- heads and modules ----------------------------------------------------------------------------


def merge_right_for_one_sequence() -> split_merge_heads.Pair:
    """The merge moves axes by strides of the first sequence: one sequence hides it."""

    def merge(x: Tensor) -> Tensor:
        right = split_merge_heads.merge(x)
        return right if x.shape[0] == 1 else torch.cat([right[:1], x[1:].reshape(x.shape[0] - 1, *right.shape[1:])])

    return split_merge_heads.split, merge


def split_right_for_even_heads() -> split_merge_heads.Pair:
    """Heads are split in two, and again; an odd number of more than one loses its order."""

    def split(x: Tensor, H: int) -> Tensor:
        y = split_merge_heads.split(x, H)
        return y if H % 2 == 0 or H == 1 else y[:, [*range(0, H, 2), *range(1, H, 2)]]

    return split, split_merge_heads.merge


class scaled_by_integer_root(MultiHead):  # noqa: N801
    """1 / isqrt(d): head sizes that are squares hide it."""

    def scale(self) -> float:
        return 1 / math.isqrt(self.embed // self.heads)


class weights_of_the_other_mask_repeat(MultiHead):  # noqa: N801
    """A mask per sequence is repeated for heads in the order (H, B), scores lie as (B, H); equal masks hide it."""

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        if attn_mask is not None and attn_mask.dim() == 4 and attn_mask.shape[1] == 1:
            B = attn_mask.shape[0]
            folded = attn_mask[:, 0].repeat(self.heads, 1, 1)
            attn_mask = folded.reshape(B, self.heads, *folded.shape[1:])
        return super().allowed(n, attn_mask, is_causal, need_weights)


class bias_of_the_output_once_per_head(MultiHead):  # noqa: N801
    """Heads are projected one by one and summed, the bias with each: zero biases and one head hide it."""

    def finish(self, x: Tensor) -> Tensor:
        y: Tensor = super().finish(x)
        return y + (self.heads - 1) * self.out_proj.bias


class causal_in_inference_alone(MultiHead):  # noqa: N801
    """is_causal is honoured on the path without gradients; training sees the future."""

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        return super().allowed(n, attn_mask, is_causal and not self.training, need_weights)


# --- log-sum-exp ----------------------------------------------------------------------------------


def lse_of_the_unscaled_scores() -> lse.Fault:
    """The log-sum-exp is taken with the default scale where another one is given."""
    ours: list[Any] = []

    def keep(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
        s = reference.scores(query, key, scale)
        ours[:] = [reference.scores(query, key, None) - s]
        return s

    return lse.build_lse(lambda s, raw: torch.logsumexp(s + ours[0], -1), scores=keep)


def lse_one_block_behind() -> lse.Fault:
    """The log-sum-exp is written before the last, partial block of 16 keys is read."""

    def behind(s: Tensor, raw: Tensor) -> Tensor:
        n = s.shape[-1]
        return torch.logsumexp(s[..., : n // 16 * 16] if n > 16 and n % 16 else s, -1)

    return lse.build_lse(behind)


def lse_in_bfloat16_for_bfloat16() -> lse.Fault:
    """For bfloat16 inputs the log-sum-exp is rounded to bfloat16 on its way: 4e-3 relative."""
    dtype: list[torch.dtype] = [torch.float32]

    def note(query: Tensor, key: Tensor, value: Tensor, mask: Any, gqa: bool) -> None:
        dtype[0] = query.dtype
        reference.check(query, key, value, mask, gqa)

    def rounded(s: Tensor, raw: Tensor) -> Tensor:
        found = torch.logsumexp(s, -1)
        return found.bfloat16().float() if dtype[0] == torch.bfloat16 else found

    return lse.build_lse(rounded, check=note)


KV: dict[str, Any] = {"contract": "kv-cache"}
MB: dict[str, Any] = {"contract": "mask-builder"}
RO: dict[str, Any] = {"contract": "rotary", "parameters": {"positions": "batched"}}
MH: dict[str, Any] = {"contract": "multi-head", "parameters": {"weights_flag": "need_weights"}}


def kind(name: str, **more: Any) -> dict[str, Any]:
    """The record of a mask builder."""
    return {**MB, "direct": True, "parameters": {"kind": name}, **more}


BATCHED = {"direct": True, **RO}
ROWS = (
    *(row(c, "hard", direct=True, accumulate="float32", **KV) for c in (
        chunk_wraps_at_the_end_of_a_page, short_chunks_are_not_causal, cached_keys_in_bfloat16,
        second_page_survives_a_reset,
    )),
    row(eviction_in_pages, "hard", direct=True, accumulate="float32", parameters={"window": 4}, **KV),
    row(lengths_in_bytes, "hard", **kind("padding")),
    row(returning_documents_are_new, "hard", **kind("segments")),
    row(window_in_blocks_of_eight, "hard", **kind("sliding_window")),
    row(prefix_no_longer_than_the_queries, "hard", **kind("prefix")),
    *(row(f, "hard", **BATCHED) for f in (
        consecutive_positions_assumed, frequencies_in_bfloat16, positions_in_sixteen_bits, odd_half_turned_short,
    )),
    row(slopes_in_half_precision, "hard", direct=True, contract="bias"),
    row(distances_from_the_row_tile, "hard", direct=True, contract="bias", expected="equivalent",
        argument="the distances of a row are all off by one number, which softmax does not see"),
    *(row(f, "hard", direct=True, contract="position-table") for f in (
        frequencies_in_half_precision, table_repeats_after_256,
    )),
    *(row(f, "hard", contract="heads") for f in (merge_right_for_one_sequence, split_right_for_even_heads)),
    *(row(c, "hard", direct=True, **MH) for c in (
        scaled_by_integer_root, weights_of_the_other_mask_repeat, bias_of_the_output_once_per_head,
        causal_in_inference_alone,
    )),
    *(row(f, "hard", contract="attention-lse", accumulate="float32", returns="out,lse") for f in (
        lse_of_the_unscaled_scores, lse_one_block_behind, lse_in_bfloat16_for_bfloat16,
    )),
)  # fmt: skip
