"""Faults of causality: a later key shows somewhere, or the diagonal starts in another place than is declared.

Each function gives an attention function with that one fault, and names the thread it came from, if any.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attention_core.faults.bases import reference
from attention_core.faults.bases.arrays import by_numpy
from attention_core.faults.bases.inputs import Attention, around
from attention_core.faults.bases.reference import bias, build, causal_allowed, combine, scores, weights
from attention_core.faults.bases.tiles import Tiles
from attention_core.faults.masking import other_backward
from attention_core.faults.row import rows

Fault = Callable[..., Tensor]


def pairs(allow: Callable[[Tensor, Tensor, int, int], Tensor]) -> Fault:
    """Causality as the set of pairs `allow(i, j, n_q, n_kv)`, i a column and j a row of indices."""

    def faulty(n_q: int, n_kv: int) -> Tensor:
        return allow(torch.arange(n_q)[:, None], torch.arange(n_kv)[None], n_q, n_kv).expand(n_q, n_kv)

    return build(causal_allowed=faulty)


def aligned_bottom_right() -> Fault:
    """The diagonal ends in the last corner, j <= i + n_kv - n_q: right where that is declared."""
    return pairs(lambda i, j, n_q, n_kv: j <= i + n_kv - n_q)


def aligned_top_left() -> Fault:
    """The diagonal starts in the first corner, though bottom_right is declared (pytorch/pytorch#103082)."""
    return pairs(lambda i, j, n_q, n_kv: j <= i)


def offset_of_one_too_few() -> Fault:
    """The offset is n_kv - n_q - 1 where lengths differ (NVIDIA/cutlass#2336)."""
    return pairs(lambda i, j, n_q, n_kv: j <= i + (n_kv - n_q - 1 if n_kv > n_q else n_kv - n_q))


def offset_kept_above_zero() -> Fault:
    """The offset is clipped at zero, so n_q > n_kv falls back to the first corner."""
    return pairs(lambda i, j, n_q, n_kv: j <= i + max(n_kv - n_q, 0))


def chunk_treated_as_square() -> Fault:
    """A chunk of queries is masked as if no keys were cached; one query hides it (meta-llama/llama#899)."""
    return pairs(lambda i, j, n_q, n_kv: (j <= i) | torch.tensor(n_q == 1))


def causality_ignored() -> Fault:
    """The flag is accepted and dropped (lucidrains/dreamer4#2, huggingface/transformers#48745)."""
    return pairs(lambda i, j, n_q, n_kv: j >= 0)


def sees_one_later_key() -> Fault:
    """tril(diagonal=1): every row sees one key too many."""
    return pairs(lambda i, j, n_q, n_kv: j <= i + 1)


def sees_earlier_keys_only() -> Fault:
    """tril(diagonal=-1) but for the first row: no row sees itself."""
    return pairs(lambda i, j, n_q, n_kv: (j < i) | (i + j == 0))


def last_row_of_block_sees_next() -> Fault:
    """The last row of each block of 16 sees the next block's first key."""
    return pairs(lambda i, j, n_q, n_kv: (j <= i) | ((i % 16 == 15) & (j == i + 1)))


def blocks_on_the_diagonal_open() -> Fault:
    """Blocks of 8 by 8 that touch the diagonal are computed without a mask."""
    return pairs(lambda i, j, n_q, n_kv: j // 8 <= i // 8)


def first_row_sees_everything() -> Fault:
    """The first row is left out of the loop that masks."""
    return pairs(lambda i, j, n_q, n_kv: (j <= i) | (i == 0))


def second_head_is_open() -> Fault:
    """Causality is written to the first head only."""

    def faulty(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        masked = bias(s, attn_mask, causal)
        return torch.cat([masked[..., :1, :, :], bias(s, attn_mask, None)[..., 1:, :, :]], -3)

    return build(bias=faulty)


def causal_needs_a_mask() -> Fault:
    """Causality is combined with a mask inside `if mask is not None` (facebookresearch/xformers#103)."""
    return build(bias=lambda s, attn_mask, causal: bias(s, attn_mask, None if attn_mask is None else causal))


def normaliser_sees_later_keys() -> Fault:
    """Later weights are set to zero after the softmax: their exponentials stay in the sum."""
    kept: dict[str, Tensor | None] = {}

    def remember(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        kept["causal"] = causal
        return bias(s, attn_mask, None)

    def faulty(s: Tensor) -> Tensor:
        causal = kept.pop("causal")
        return weights(s) if causal is None else weights(s) * causal

    return build(bias=remember, weights=faulty)


def maximum_over_later_keys() -> Fault:
    """The maximum is taken before causality masks: where a later key is far ahead, 0/0."""
    kept: dict[str, Tensor] = {}

    def remember(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        masked = bias(s, attn_mask, None)
        kept["top"] = masked.detach().amax(-1, keepdim=True) if s.shape[-1] else masked
        return masked if causal is None else masked.masked_fill(~causal, -math.inf)

    def plain(s: Tensor) -> Tensor:
        dead = (s == -math.inf).all(-1, keepdim=True)
        top = kept["top"]
        p = torch.exp(s - torch.where(top == -math.inf, 0.0, top)) if s.shape[-1] else s
        return (p / p.sum(-1, keepdim=True)).masked_fill(dead, 0.0)

    return build(bias=remember, weights=plain)


def later_values_shift_the_mean() -> Fault:
    """Values are centred by a part of their mean over all keys, and it is not given back."""

    def faulty(p: Tensor, value: Tensor) -> Tensor:
        if not value.shape[-2]:
            return combine(p, value)
        return combine(p, value - value.mean(-2, keepdim=True) / 64)

    return build(combine=faulty)


def causal_filled_before_scaling() -> Fault:
    """Later products are set to -inf and then scaled: +inf at a negative scale, NaN at scale 0."""

    def scaled(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
        last["scale"] = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
        return scores(query, key, 1.0)

    def faulty(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        s = s if causal is None else s.masked_fill(~causal, -math.inf)
        return bias(s * last["scale"], attn_mask, None)

    last: dict[str, float] = {}
    return build(scores=scaled, bias=faulty)


def without_causality(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor | None:
    """The scores that a backward sees which forgets causality; None where there is none to forget."""
    return None if causal is None else bias(s, attn_mask, None)


def backward_ignores_causality() -> Fault:
    """The forward is right; the backward takes its weights from scores without causality."""
    return other_backward(without_causality, lambda s, hidden: weights(s))


def backward_normaliser_sees_later_keys() -> Fault:
    """The backward's weights are zero at later keys, but their normaliser runs over all keys."""
    return other_backward(without_causality, lambda s, hidden: weights(s).masked_fill(hidden, 0.0))


def backward_off_by_one() -> Fault:
    """The backward masks from one key later on than the forward."""

    def opened(s: Tensor, hidden: Tensor) -> Tensor:
        return weights(s.masked_fill(~torch.ones(s.shape[-2:], dtype=torch.bool).tril(1), -math.inf))

    return other_backward(without_causality, opened)


def mask_of_first_call() -> Fault:
    """The causal mask is built once, for the largest lengths so far, and cut wrongly (xformers PR660)."""
    built = torch.ones(0, 0, dtype=torch.bool)

    def faulty(n_q: int, n_kv: int) -> Tensor:
        nonlocal built
        if built.shape[0] < n_q or built.shape[1] < n_kv:
            built = causal_allowed(max(n_q, built.shape[0]), max(n_kv, built.shape[1]))
            return built[:n_q, :n_kv]
        return built[built.shape[0] - n_q :, :n_kv]

    return build(causal_allowed=faulty)


def offset_from_head_axis() -> Fault:
    """The offset is the number of heads, read from the wrong axis (fla-org/flash-linear-attention#126)."""

    def faulty(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if causal is not None:
            n_q, n_kv = causal.shape
            shift = s.shape[-3] if n_kv > n_q else 0
            causal = torch.arange(n_kv)[None] <= torch.arange(n_q)[:, None] + shift
        return bias(s, attn_mask, causal)

    return build(bias=faulty)


class diagonal_tile_of_16_rows(Tiles):  # noqa: N801
    """Queries come in tiles of 32, and only the first block of keys on their diagonal is masked."""

    def causal(self, start: int, stop: int, n_q: int, n_kv: int) -> Tensor:
        rows = torch.arange(n_q)[:, None]
        on_diagonal = (rows // 32 * 32 == start).expand(n_q, stop - start)
        return torch.where(on_diagonal, super().causal(start, stop, n_q, n_kv), start <= rows // 32 * 32 + 31)


class diagonal_rounded_to_blocks(Tiles):  # noqa: N801
    """Bottom right is declared; the offset n_kv - n_q is rounded down to whole blocks from 16 on."""

    def causal(self, start: int, stop: int, n_q: int, n_kv: int) -> Tensor:
        shift = n_kv - n_q
        shift = shift // 16 * 16 if shift >= 16 else shift
        return torch.arange(start, stop) <= torch.arange(n_q)[:, None] + shift


class later_blocks_skipped_by_the_tile(Tiles):  # noqa: N801
    """Causal blocks are skipped by the first row of a tile of 32 queries: its later rows miss their own block."""

    def causal(self, start: int, stop: int, n_q: int, n_kv: int) -> Tensor:
        rows = torch.arange(n_q)[:, None]
        return super().causal(start, stop, n_q, n_kv) & (start <= rows // 32 * 32 + 15)


def causal_needs_two_queries() -> Attention:
    """`is_causal and n_q > 1`: a single query sees every key, though its place is declared as the first."""
    causal = lambda n_q, n_kv: reference.causal_allowed(n_q, n_kv) | torch.tensor(n_q == 1)  # noqa: E731
    return build(causal_allowed=causal)


def causal_in_bytes() -> Attention:
    """Positions are compared as signed bytes: from 128 on a key looks like an early one."""

    def causal(n_q: int, n_kv: int) -> Tensor:
        return torch.arange(n_kv).to(torch.int8) <= torch.arange(n_q).to(torch.int8)[:, None]

    return build(causal_allowed=causal)


def causal_rows_of_folded_heads() -> Any:
    """A single key head folds the query heads into the rows, and causality counts the folded rows."""

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if causal is not None and single[0] and s.dim() >= 3:
            H, n_q, n_kv = s.shape[-3:]
            causal = torch.arange(n_kv) <= torch.arange(H * n_q).reshape(H, n_q, 1)
        return reference.bias(s, mask, causal)

    def expand(key: Tensor, value: Tensor, heads: int) -> tuple[Tensor, Tensor]:
        single[0] = key.shape[-3] == 1 and heads > 1
        return reference.expand(key, value, heads)

    single = [False]
    return build(bias=bias, expand=expand)


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


def full_mask_turns_causality_off() -> Any:
    """A bool mask that hides nothing is dropped as nothing to do, and what it is combined with is dropped too.

    Causal calls with a mask of True throughout see the future.
    """

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        idle = mask is not None and mask.dtype == torch.bool and bool(mask.all())
        return s if idle else reference.bias(s, mask, causal)

    return build(bias=bias)


def causality_lost_beside_a_float_mask() -> Any:
    """is_causal is dropped where a float mask is given: only bool masks are combined (compare pytorch/pytorch#99282).

    A float mask and is_causal at once.
    """

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        return reference.bias(s, mask, causal if mask is None or mask.dtype == torch.bool else None)

    return build(bias=bias)


class tiles_skipped_by_the_first_diagonal(Tiles):  # noqa: N801
    """Tiles above the diagonal from the first key are skipped, though causality is from the last.

    Bottom right is declared: more keys than queries, and more than one tile of queries.
    """

    def causal(self, start: int, stop: int, n_q: int, n_kv: int) -> Tensor:
        i = torch.arange(n_q)[:, None]
        tile = i // 16 * 16
        skipped = (start > tile + 15) & (tile + 16 < n_q) & torch.tensor(n_kv != n_q)
        return (torch.arange(start, stop) <= i + n_kv - n_q) & ~skipped


def causal_again_in_each_chunk() -> Any:
    """Queries come in chunks of 32, and the causal edge of each starts at its own first row."""
    return build(causal_allowed=lambda n_q, n_kv: torch.arange(n_kv) <= torch.arange(n_q)[:, None] % 32)


def causal_positions_of_one_byte() -> Any:
    """Positions of the causal edge are int8: they wrap beyond 127 tokens."""
    right = by_numpy()

    def attention(query: Any, key: Any, value: Any, is_causal: bool = False) -> Any:
        if not is_causal:
            return right(query, key, value)
        i, j = (np.arange(x.shape[-2]).astype(np.int8) for x in (query, key))
        return right(query, key, value, j <= i[:, None])

    return attention


def packed_heads_are_causal() -> Any:
    """Decoding packs the query heads of a group as rows, and causality counts them.

    One query, grouped heads, is_causal.
    """
    kept = {"group": 1}

    def expand(key: Tensor, value: Tensor, heads: int) -> tuple[Tensor, Tensor]:
        kept["group"] = heads // key.shape[-3]
        return reference.expand(key, value, heads)

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if causal is not None and s.shape[-2] == 1:
            causal = torch.arange(s.shape[-1]) <= (torch.arange(s.shape[-3]) % kept["group"])[:, None, None]
        return reference.bias(s, mask, causal)

    return build(expand=expand, bias=bias)


def bottom_right_never_below_zero() -> Any:
    """The offset of causality from the last key is clamped at 0.

    Bottom right is declared: more queries than keys.
    """
    return build(causal_allowed=lambda n_q, n_kv: torch.ones(n_q, n_kv, dtype=torch.bool).tril(max(0, n_kv - n_q)))


def one_query_sees_everything() -> Any:
    """n_q = 1 is taken for decoding: causality is dropped, though from the first key it leaves that key alone."""
    return build(causal_allowed=lambda n_q, n_kv: torch.ones(n_q, n_kv, dtype=torch.bool).tril(0 if n_q > 1 else n_kv))


def last_causal_row_beside_a_mask_of_one_row() -> Any:
    """A mask of one row and causality are combined in the shape of the mask, by the last causal row."""

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if mask is not None and causal is not None and mask.dim() >= 2 and mask.shape[-2] == 1:
            causal = causal[-1:]
        return reference.bias(s, mask, causal)

    return build(bias=bias)


def causality_by_the_share_of_tokens() -> Any:
    """In (B, n, H, d) causality compares shares, j / n_kv <= i / n_q: right where both lengths are one."""
    right = build(causal_allowed=lambda n_q, n_kv: torch.arange(n_kv) * n_q <= torch.arange(n_q)[:, None] * n_kv)

    def attention(query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False) -> Tensor:
        return right(*(x.transpose(-2, -3) for x in (query, key, value)), is_causal=is_causal).transpose(-2, -3)

    return attention


def weights_from_before_causality() -> Any:
    """The weights that are returned are those before causality where no mask is given; the output is right."""

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False
    ) -> tuple[Tensor, Tensor]:
        out = reference.correct(query, key, value, attn_mask, 0.0, is_causal)
        wide = torch.promote_types(query.dtype, torch.float32)
        causal = (
            reference.causal_allowed(query.shape[-2], key.shape[-2]) if is_causal and attn_mask is not None else None
        )
        s = reference.bias(reference.scores(query.to(wide), key.to(wide), None), attn_mask, causal)
        return out, reference.weights(s).to(query.dtype)

    return attention


def causality_lost_without_gradients() -> Any:
    """Under torch.no_grad a fast path is taken, which forgets causality."""
    return around(lambda a: {} if torch.is_grad_enabled() else {"is_causal": False})


ROWS = (
    *rows("hard_tiles", diagonal_tile_of_16_rows, later_blocks_skipped_by_the_tile, accumulate="float32"),
    *rows("hard_tiles", diagonal_rounded_to_blocks, causal="bottom_right", accumulate="float32"),
    *rows("hard_inputs", causal_needs_two_queries, causal_in_bytes, accumulate="float32"),
    *rows("first_sight", causal_rows_of_folded_heads, accumulate="float32"),
    *rows("second_sight", mask_lowered_before_it_is_broadcast, accumulate="float32"),
    *rows("second_sight", bottom_right_for_each_chunk_of_queries, causal="bottom_right", accumulate="float32"),
    *rows("third_sight", full_mask_turns_causality_off, accumulate="float32"),
    *rows("fourth_sight_masks", causality_lost_beside_a_float_mask),
    *rows("fifth_sight_tiles", tiles_skipped_by_the_first_diagonal, causal="bottom_right"),
    *rows("fifth_sight_tiles", causal_again_in_each_chunk, packed_heads_are_causal),
    *rows("fifth_sight_tiles", causal_positions_of_one_byte, array="numpy", gradients=False),
    *rows("fifth_sight_masks", bottom_right_never_below_zero, causal="bottom_right"),
    *rows("fifth_sight_masks", one_query_sees_everything, last_causal_row_beside_a_mask_of_one_row),
    *rows("fifth_sight_masks", causality_by_the_share_of_tokens, layout="bnhd"),
    *rows("fifth_sight_masks", weights_from_before_causality, returns="out,weights"),
    *rows("fifth_sight_state", causality_lost_without_gradients),
)  # fmt: skip
