"""Faults of the fourth set in the other contracts, by somebody who had seen neither the laws nor the faults so far.

Their rate of refutation at first sight is in experiments/power/first_sight.json. They are what they were then, on the
catalogue's own correct bases, and declare what they declared then.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from attention_core.faults import bias, lse, position_table, rotary
from attention_core.faults.mask_builder import positions, real_keys
from attention_core.faults.multi_head import MultiHead
from attention_core.faults.row import row

# --- positions ------------------------------------------------------------------------------------


def negative_positions_from_the_end() -> Any:
    """A table that grows to the largest position is indexed with negative ones, from its end (Python's indexing).

    Positions below 0: p is turned as p + the table's length is.
    """
    rows: dict[int, int] = {}

    def rotate(x: Tensor, places: Tensor) -> Tensor:
        d, found = x.shape[-1], places.flatten().tolist() or [0]
        rows[d] = max(rows.get(d, 0), 32, max(found) + 1, -min(found))
        return rotary.correct(x, torch.where(places < 0, places + rows[d], places))

    return rotate


def tables_without_their_dtype() -> Any:
    """Tables are kept by length and head size, in the dtype of the first call (huggingface/transformers#25681).

    A call in two bytes, then one in float32.
    """
    kept: dict[tuple[int, int], tuple[Tensor, ...]] = {}

    def rotate(x: Tensor, places: Tensor) -> Tensor:
        d, need = x.shape[-1], int(places.max()) + 1 if places.numel() else 1
        size = 1 << max(need - 1, 15).bit_length()
        if (size, d) not in kept:
            kept[size, d] = tuple(t.to(x.dtype) for t in rotary.tables(torch.arange(size), d))
        cos, sin = (t[places].float() for t in kept[size, d])
        return rotary.turn(x.float(), cos, sin).to(x.dtype)

    return rotate


def pairs_behind_the_last_four(x: Tensor, places: Tensor) -> Tensor:
    """Pairs are turned four at a time; what is left over stays once there is a whole group (the tail of a vector loop).

    d = 10, 12, 14, 18, ...
    """
    d = x.shape[-1]
    half, frequency = d // 2, rotary.frequencies(d)
    if half > 4:
        frequency = torch.where(torch.arange(half) < half - half % 4, frequency, 0.0)
    angle = places.float()[..., None] * frequency
    angle = torch.cat([angle, angle], -1)
    return rotary.turn(x.to(torch.promote_types(x.dtype, torch.float32)), angle.cos(), angle.sin()).to(x.dtype)


def slopes_of_two_bytes(H: int, n_q: int, n_kv: int) -> Tensor:
    """Slopes are made in float16 (as a model cast before its slopes are made).

    H not a power of two, or above 8.
    """
    return bias.with_slopes(bias.slopes(H).half().float(), n_q, n_kv)


def distances_from_the_first_row(H: int, n_q: int, n_kv: int) -> Tensor:
    """-m |i - j| whose rows start at 0, but for a single query (a prompt in chunks).

    1 < n_q < n_kv.
    """
    start = n_kv - 1 if n_q == 1 else 0
    return -bias.slopes(H)[:, None, None] * (torch.arange(start, start + n_q)[:, None] - torch.arange(n_kv)).abs()


def positions_of_two_bytes(n: int, d: int) -> Tensor:
    """Positions are bfloat16 (a model cast before its table is made).

    From position 257 on.
    """
    angle = torch.arange(n).bfloat16().float()[:, None] * position_table.angles(2, d)[1]
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)[:, :d]


# --- masks ----------------------------------------------------------------------------------------


def prefix_in_rows(n_q: int, n_kv: int, P: int) -> Tensor:
    """mask[:P, :P] = True: the prefix is counted in rows of the mask, not in tokens (textbook slip).

    Bottom right is declared: more queries than keys, and a prefix.
    """
    i, j = positions(n_q, n_kv, "bottom_right")
    mask = j <= i
    mask[:P, :P] = True
    return mask


def segments_by_runs(n_q: int, n_kv: int, ids: Tensor) -> Tensor:
    """Segments are told by counting changes of the id: one that comes back is another (packing by cumsum).

    Ids that come back; n_q = n_kv alone is taken.
    """
    if n_q != n_kv:
        raise ValueError("as many queries as keys")
    run = torch.cat([torch.zeros_like(ids[:, :1]), (ids[:, 1:] != ids[:, :-1]).cumsum(-1)], -1)
    return (run[:, :, None] == run[:, None, :])[:, None]


def lengths_of_one_at_least(n_q: int, n_kv: int, lengths: Tensor) -> Tensor:
    """Lengths are clamped to 1, so that no row is empty (a guard against NaN).

    A length of 0.
    """
    return real_keys(n_q, n_kv, lengths.clamp(min=1))


# --- modules and the log-sum-exp ------------------------------------------------------------------


class masks_of_sequences_for_heads(MultiHead):  # noqa: N801
    """Masks for (B H, n, n) are repeated H times behind themselves (nn.MultiheadAttention's mask of three axes).

    Two sequences and two heads or more, and masks that differ within the batch.
    """

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        if attn_mask is not None and attn_mask.dim() == 4:
            attn_mask = attn_mask[:, 0].repeat(self.heads, 1, 1).unflatten(0, (-1, self.heads))
        return super().allowed(n, attn_mask, is_causal, need_weights)


class weights_without_causality(MultiHead):  # noqa: N801
    """The path with weights forgets is_causal where no mask is given (compare pytorch/pytorch#99282).

    need_weights and is_causal, without a mask.
    """

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        causal = is_causal and (attn_mask is not None or not need_weights)
        return super().allowed(n, attn_mask, causal, need_weights)


class triangle_keeps_a_mask(MultiHead):  # noqa: N801
    """The causal buffer takes up a mask (n, n) in place, and stays spoilt (in-place &= on a view of a buffer).

    is_causal with a mask of two axes, then another causal call.
    """

    def build(self) -> None:
        super().build()
        self.register_buffer("past", torch.ones(64, 64, dtype=torch.bool).tril(), persistent=False)

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        if n > 64:
            raise ValueError("too long")
        if not is_causal:
            return super().allowed(n, attn_mask, is_causal, need_weights)
        past: Tensor = self.past[:n, :n]  # type: ignore[index]
        if attn_mask is not None and attn_mask.dim() == 2:
            past &= attn_mask
            return past
        return past if attn_mask is None else past & attn_mask


def lse_of_the_maximum_not_applied() -> lse.Fault:
    """Lazy rescaling: the log-sum-exp is read from the maximum that was not applied (FlashAttention 4's threshold).

    More than four keys, and a maximum that grows by less than 8; the output is right.
    """

    def stale(s: Tensor, raw: Tensor) -> Tensor:
        found, real = torch.logsumexp(s, -1), s.new_full(s.shape[:-1], -math.inf)
        applied = real
        for start in range(0, s.shape[-1], 4):
            real = torch.maximum(real, s.detach()[..., start : start + 4].amax(-1))
            applied = torch.where((real - applied > 8) | torch.tensor(start == 0), real, applied)
        return found + torch.where(real == -math.inf, 0.0, real - applied)

    return lse.build_lse(stale)


MH: dict[str, Any] = {"direct": True, "contract": "multi-head"}
RO: dict[str, Any] = {"contract": "rotary", "dtypes": ("float32", "bfloat16", "float16")}


def new(target: Any, **record: Any) -> Any:
    """A row of this file."""
    return row(target, "hard", "fourth_sight", **record)


def mask(target: Any, kind: str, **record: Any) -> Any:
    """A row of a mask builder."""
    return new(target, direct=True, contract="mask-builder", parameters={"kind": kind}, **record)


ROWS = (
    new(negative_positions_from_the_end, **RO), new(tables_without_their_dtype, **RO, parameters={"min_position": 0}),
    new(pairs_behind_the_last_four, direct=True, contract="rotary", parameters={"min_position": 0}),
    *(new(f, direct=True, contract="bias") for f in (slopes_of_two_bytes, distances_from_the_first_row)),
    new(positions_of_two_bytes, direct=True, contract="position-table"),
    mask(prefix_in_rows, "prefix", causal="bottom_right"), mask(segments_by_runs, "segments"),
    mask(lengths_of_one_at_least, "padding"),
    new(masks_of_sequences_for_heads, **MH), new(triangle_keeps_a_mask, **MH),
    new(weights_without_causality, **MH, parameters={"weights_flag": "need_weights"}),
    new(lse_of_the_maximum_not_applied, contract="attention-lse", returns="out,lse", accumulate="float32"),
)  # fmt: skip
