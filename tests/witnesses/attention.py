"""Witnesses of faults of the forward pass: tiles, the softmax, scores, masks, causality, layouts.

`WITNESS` has, by the name of a fault, how far a target is off on the call that shows it, and a correct target in its place.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from witnesses.measures import (
    F16,
    Witness,
    bottom_right,
    called,
    excess_with_gradients,
    forward,
    heads_inside,
    normal,
    off,
    open_but_one,
    same_bits,
    some,
    three,
    truth,
)

from attention_core.faults import dead_rows, value
from attention_core.faults.bases.arrays import by_numpy
from attention_core.faults.bases.reference import build, correct
from attention_core.faults.bases.tiles import Tiles


def saturating(target: Any) -> float:
    """Two scores beyond 65504, 1024 apart."""
    q, v = torch.full((1, 1, 1, 16), 64.0, dtype=F16), normal(1, 1, 2, 4, dtype=F16)
    return excess_with_gradients(target, q, torch.tensor([128.0, 127.0], dtype=F16)[:, None].expand(1, 1, 2, 16), v)


def open_inside(target: Any) -> float:
    """A mask that hides its four corners."""
    mask = torch.ones(5, 7, dtype=torch.bool)
    mask[[0, 0, -1, -1], [0, -1, 0, -1]] = False
    return excess_with_gradients(target, *three(), mask)


def expanded() -> list[Tensor]:
    """Seventeen keys and values, each of one head for three."""
    q, k, v = three(5, 17, H=3)
    return [q, *(x[:, :1].expand(2, 3, 17, 8) for x in (k, v))]


def heads_last_keys() -> list[Tensor]:
    """Packed queries, keys whose heads lie last."""
    q, k, v = three(5, 5, H=3)
    return [q, k.transpose(1, 2).contiguous().transpose(1, 2), v]


def left_padded() -> Tensor:
    """Forty keys of which the first 25 are hidden."""
    return (torch.arange(40) >= 25).expand(1, 1, 3, 40)


RIGHT = "bottom_right"


def low_scores(target: Any) -> float:
    """Causal, 20 keys, all scores near -128 and free of rounding: rows before the last block see it masked first."""
    q, k, v = three(20, 20, d=4)
    q, k = q.round(), k.round()
    q[..., 0], k[..., 0] = 16.0, -16.0
    return forward(target, q, k, v, causal=True)


def wide_negative(target: Any) -> float:
    """A scale of -1 and scores from -100 to 100."""
    q, k, v = three(3, 20)
    q[..., 0], k[..., 0] = 10.0, torch.linspace(-10, 10, 20)
    return forward(target, q, k, v, scale=-1.0)


def long_after_short(target: Any) -> float:
    """One query with 40 keys, then one with 100."""
    forward(target, *three(1, 40))
    return forward(target, *three(1, 100))


def second_features(x: Tensor) -> Tensor:
    """The same values, as every second feature of a wider tensor."""
    return torch.stack([x, normal(*x.shape, seed=9)], -1).flatten(-2)[..., ::2]


def two_batch_axes(target: Any) -> float:
    """Batch axes of 2 and 3; the first one's masks differ."""
    q, k, v = (normal(2, 3, 2, 5, 8, seed=i) for i in range(3))
    return forward(target, q, k, v, torch.tensor([[True] * 5, [True, True, False, False, False]])[:, None, None, None])


first_keys = (torch.arange(2 * 5 * 7).reshape(2, 1, 5, 7) % 3 > 0) | (torch.arange(7) == 0)


def one_key_of_zeros(target: Any) -> float:
    """The third of seven keys is zero."""
    q, k, v = three()
    k[..., 2, :] = 0.0
    return forward(target, q, k, v)


def one_high_key_in_the_tail(target: Any) -> float:
    """Twelve keys, the eleventh with a score of 566."""
    q, k, v = three(3, 12)
    q[..., 0], k[..., 0], k[..., 10, 0] = 40.0, 0.0, 40.0
    return forward(target, q, k, v)


def empty_rows_of_a_causal_call(target: Any) -> float:
    """The last two of five keys are open: the first three rows see nothing, and are the mean over all values."""
    q, k, v = three(5, 5)
    out, want = target(q, k, v, attn_mask=torch.arange(5) >= 3, is_causal=True), v.double().mean(-2, keepdim=True)
    return off(out[..., :3, :], want.expand(2, 2, 3, 8))


def weights_beside(target: Any) -> float:
    """The weights of a first row that sees nothing, and of others."""
    q, k, v = three()
    mask = torch.ones(5, 7, dtype=torch.bool)
    mask[0] = False
    s = (q.double() @ k.double().mT / math.sqrt(8)).softmax(-1) * mask
    return off(target(q, k, v, attn_mask=mask)[1], s)


def nan_of_a_query(target: Any) -> float:
    """inf where the row of a query with NaN in it holds a number."""
    q, k, v = three()
    q[0, 0, 0, 0] = math.nan
    return 0.0 if bool(target(q, k, v)[0, 0, 0].isnan().all()) else math.inf


second_head_alone = torch.ones(1, 2, 5, 20, dtype=torch.bool)
second_head_alone[:, 0, :, 16:] = False


one_mask_per_head = (torch.arange(4 * 5 * 7).reshape(1, 4, 5, 7) % 3 > 0) | (torch.arange(7) == 0)


def in_numpy(target: Any, layout: str = "bhnd") -> Any:
    """A target of NumPy's arrays for tensors."""

    def attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, **more: Any) -> Tensor:
        given = [x.transpose(1, 2) if layout == "bnhd" else x for x in (query, key, value)]
        masks = () if attn_mask is None else (attn_mask.numpy(),)
        out = torch.from_numpy(target(*(x.numpy() for x in given), *masks, **more))
        return out.transpose(1, 2) if layout == "bnhd" else out

    return attention


def scores_near_128(target: Any) -> float:
    """Scores of 128 and a little in bfloat16, whose products lie 8 apart there."""
    q, k, v = three(9, 30, d=64, dtype=torch.bfloat16)
    q[..., 0] = k[..., 0] = 32.0
    return forward(target, q, k, v)


def products_of_80000(target: Any) -> float:
    """Two products of 80000 and 79680 in float16, over 8."""
    q, v = torch.full((1, 1, 1, 64), 40.0).half(), normal(1, 1, 2, 4).half()
    key = torch.stack([torch.full((64,), 31.25), torch.full((64,), 31.125)]).half()
    return forward(target, q, key[None, None], v)


def dtype_kept(target: Any) -> float:
    """inf where the output of float32 is not float32."""
    return 0.0 if in_numpy(target)(*three()).dtype == torch.float32 else math.inf


def low_in_every_product(target: Any) -> float:
    """All scores near -800."""
    q, k, v = three(2, 3, d=4)
    return forward(target, torch.full_like(q, 20.0), k.round() / 4 - 20.0, v)


def later_split_far_larger(target: Any) -> float:
    """One query, sixteen keys, the tenth with a score 400 above the rest."""
    q, k, v = three(1, 16, d=4)
    k[..., 9, :] = 40.0
    return forward(target, torch.full_like(q, 10.0), k.round(), v)


def tail_far_larger(target: Any) -> float:
    """Seventy keys, the sixty-seventh with a score of 800."""
    q, k, v = three(2, 70, d=4)
    k[..., 66, :] = 40.0
    return forward(target, torch.full_like(q, 10.0), k.round(), v)


def wide_values_of_no_key(target: Any) -> float:
    """inf where no key gives another shape than that of the values."""
    q, k, v = three(5, 0, d_v=3)
    return same_bits(called(target, q, k, v, None, False, None), torch.zeros(2, 2, 5, 3))


def two_outer_masks(target: Any) -> float:
    """Batch axes of 2 and 3; the first one's masks differ."""
    q, k, v = (normal(2, 3, 1, 5, 8, seed=i) for i in range(3))
    return forward(target, q, k, v, torch.tensor([[True] * 5, [True, True, False, False, False]])[:, None, None, None])


def causal_weights(target: Any) -> float:
    """The weights of a causal call."""
    q, k, v = three()
    s = (q.double() @ k.double().mT / math.sqrt(8)).masked_fill(torch.ones(5, 7, dtype=torch.bool).triu(1), -math.inf)
    return off(target(q, k, v, is_causal=True)[1], s.softmax(-1))


def with_weights() -> Any:
    """Correct attention with its weights."""

    def attention(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> tuple[Tensor, Tensor]:
        eye = torch.eye(k.shape[-2]).expand(*k.shape[:-1], k.shape[-2])
        return correct(q, k, v, is_causal=is_causal), correct(q, k, eye, is_causal=is_causal)

    return attention


padding = torch.tensor([[True] * 7, [True, True] + [False] * 5])[:, None, None]


by_head = (torch.arange(2 * 5 * 7).reshape(2, 5, 7) % 4 > 0) | (torch.arange(7) == 0)


dead_in_one_head = torch.ones(2, 2, 5, 7, dtype=torch.bool)
dead_in_one_head[0, 1, 2] = False


square = (torch.arange(49).reshape(7, 7) % 5 > 1) | torch.eye(7, dtype=torch.bool)


row_far_below = torch.zeros(5, 7)
row_far_below[1] = -2e4


dead_bias = torch.zeros(5, 1)
dead_bias[1] = -math.inf


def transposed(x: Tensor) -> Tensor:
    """The same values, features outside tokens."""
    return x.mT.contiguous().mT


def mask_afterwards(target: Any) -> float:
    """A float mask of a causal call, looked at afterwards."""
    mask = torch.zeros(5, 7)
    target(*three(), attn_mask=mask, is_causal=True)
    return same_bits(mask, torch.zeros(5, 7))


def query_afterwards(target: Any) -> float:
    """A query of 20 rows, looked at afterwards."""
    q, k, v = three(20)
    before = q.clone()
    target(q, k, v)
    return same_bits(q, before)


def value_afterwards(target: Any) -> float:
    """A value, looked at after its output was written into."""
    q, k, v = three(1, 1)
    before = v.clone()
    target(q, k, v).add_(1.0)
    return same_bits(v, before)


def without_gradients(target: Any) -> float:
    """A causal call under torch.no_grad."""
    with torch.no_grad():
        return forward(target, *three(), causal=True)


WITNESS: dict[str, Witness] = {
    "two_empty_splits_swallow_the_row": (lambda t: excess_with_gradients(t, *three(3, 40), left_padded()), Tiles),
    "trailing_split_reads_as_a_zero": (lambda t: excess_with_gradients(t, *three(5, 70)), Tiles),
    "bias_of_the_tail_in_base_two": (lambda t: excess_with_gradients(t, *three(5, 20), normal(5, 20)), Tiles),
    "last_chunk_slides_back": (lambda t: excess_with_gradients(t, *three(5, 20)), Tiles),
    "log2e_of_five_digits": (lambda t: excess_with_gradients(t, *three(5, 20, size=2, dtype=torch.float64)), Tiles),
    "unscaled_product_saturates_in_float16": (saturating, Tiles),
    "tiles_tested_at_their_corners": (open_inside, build),
    "mask_lowered_before_it_is_broadcast": (
        lambda t: excess_with_gradients(t, *three(), torch.ones(1, 1, 1, 7, dtype=torch.bool), causal=True),
        build,
    ),
    "bottom_right_for_each_chunk_of_queries": (
        lambda t: excess_with_gradients(t, *three(40, 40), causal=True, alignment=RIGHT),
        lambda: build(causal_allowed=lambda n_q, n_kv: torch.ones(n_q, n_kv, dtype=torch.bool).tril(n_kv - n_q)),
    ),
    "one_key_needs_no_mask": (lambda t: excess_with_gradients(t, *three(5, 1), torch.arange(5)[:, None] > 1), build),
    "scale_of_the_value_width": (lambda t: excess_with_gradients(t, *three(d_v=4)), build),
    "expanded_heads_lose_their_last_key": (lambda t: excess_with_gradients(t, *expanded()), build),
    "one_set_of_strides_for_query_and_key": (lambda t: excess_with_gradients(t, *heads_last_keys()), build),
    "masked_first_block_leaves_a_maximum_of_zero": (low_scores, Tiles),
    "masked_block_before_the_first_key": (lambda t: forward(t, *three(3, 40), torch.arange(40) >= 20), Tiles),
    "split_weights_of_the_last_key_head": (lambda t: forward(t, *three(1, 40)), Tiles),
    "split_count_of_the_first_long_call": (long_after_short, Tiles),
    "mask_skipped_below_the_diagonal": (
        lambda t: forward(t, *three(20, 20), torch.arange(20) % 3 == 0, causal=True),
        Tiles,
    ),
    "maximum_before_a_negative_scale": (wide_negative, Tiles),
    "decoding_tiles_cross_the_group": (lambda t: forward(t, *three(1, 7, H=6, H_kv=2, H_kv_v=2)), build),
    "head_offset_from_a_quotient_of_strides": (
        lambda t: forward(t, *(heads_inside(x) for x in three(H=3))),
        build,
    ),
    "innermost_stride_taken_for_one": (lambda t: forward(t, *(second_features(x) for x in three())), build),
    "values_of_the_first_group_of_positions": (lambda t: forward(t, *three(3, 40, d=8, d_v=32)), build),
    "mask_of_the_first_sequence_for_few_queries": (lambda t: forward(t, *three(), first_keys), build),
    "bias_scaled_in_decoding": (lambda t: forward(t, *three(1, 7), normal(1, 7)), build),
    "full_mask_turns_causality_off": (
        lambda t: forward(t, *three(5, 5), torch.ones(5, 5, dtype=torch.bool), causal=True),
        build,
    ),
    "masks_of_two_batch_axes_tiled": (two_batch_axes, build),
    "splits_without_keys_weigh_one": (lambda t: forward(t, *three(5, 20), torch.arange(20) >= 8), build),
    "maximum_never_below_zero": (low_scores, Tiles),
    "maximum_times_a_negative_scale": (wide_negative, build),
    "maximum_of_whole_groups_of_eight": (one_high_key_in_the_tail, build),
    "one_key_weighs_one": (lambda t: forward(t, *three(5, 1), torch.arange(5)[:, None] > 1), build),
    "hidden_twice_is_hidden_more": (empty_rows_of_a_causal_call, dead_rows.dead_rows_are_means),
    "weights_of_dead_rows_are_nan": (weights_beside, value.correct_with_weights),
    "every_nan_becomes_zero": (nan_of_a_query, build),
    "features_behind_the_last_eight": (lambda t: forward(t, *three(d=12)), build),
    "keys_of_zeros_are_padding": (one_key_of_zeros, build),
    "values_by_the_strides_of_keys": (lambda t: forward(t, *three()[:2], heads_inside(three()[2])), build),
    "head_masks_by_the_key_head": (
        lambda t: forward(t, *three(H=4, H_kv=2, H_kv_v=2), one_mask_per_head),
        build,
    ),
    "square_masks_taken_for_padding": (
        lambda t: forward(t, *three(2, 7), torch.arange(14).reshape(2, 7) % 3 > 0),
        build,
    ),
    "blocks_skipped_by_the_first_mask": (lambda t: forward(t, *three(5, 20), second_head_alone), build),
    "blocks_full_by_their_corners": (lambda t: forward(t, *three(), open_but_one), build),
    "masks_of_two_batch_axes_in_the_wrong_order": (two_batch_axes, build),
    "causality_lost_beside_a_float_mask": (lambda t: forward(t, *three(5, 5), normal(5, 5), causal=True), build),
    "scale_of_the_values": (lambda t: forward(t, *three(d_v=3)), build),
    "default_scale_of_the_padded_head": (lambda t: forward(t, *three(d=6)), build),
    "scale_of_zero_is_none": (lambda t: forward(t, *three(), scale=0.0), build),
    "scale_in_float16": (lambda t: forward(t, *three(), scale=0.3), build),
    "late_heads_scaled_in_bfloat16": (lambda t: forward(t, *three(d=3, H=12)), build),
    "scale_lost_for_causal_groups": (
        lambda t: forward(t, *three(H=4, H_kv=2, H_kv_v=2), causal=True, scale=0.2),
        build,
    ),
    "log_n_beyond_512": (lambda t: forward(t, *three(5, 600)), build),
    "bias_scaled_with_the_scores": (
        lambda t: forward(in_numpy(t, "bnhd"), *three(), normal(5, 7)),
        lambda: lambda q, k, v, m: by_numpy()(*(x.swapaxes(1, 2) for x in (q, k, v)), m).swapaxes(1, 2),
    ),
    "float64_of_a_square_root": (dtype_kept, by_numpy),
    "features_beyond_128": (lambda t: forward(t, *three(d=160)), build),
    "scores_in_tf32_when_aligned": (lambda t: forward(t, *three(16, d=64)), build),
    "scores_rounded_before_float32": (scores_near_128, build),
    "products_overflow_in_float16": (products_of_80000, build),
    "float64_in_float32": (lambda t: forward(t, *three(dtype=torch.float64)), build),
    "scores_clamped_at_80": (lambda t: forward(t, *three(size=12.0)), build),
    "log2e_as_1_4427": (lambda t: forward(t, *three(dtype=torch.float64)), build),
    "weights_below_1e_4_dropped": (lambda t: forward(t, *three(5, 50, size=2.0)), build),
    "denominator_plus_a_thousandth": (lambda t: forward(t, *three()), build),
    "maximum_before_the_scale": (wide_negative, build),
    "top_128_scores": (lambda t: forward(t, *three(5, 200)), build),
    "sum_not_rescaled": (lambda t: forward(t, *three(5, 100)), Tiles),
    "last_tile_moved_back": (lambda t: forward(t, *three(5, 20)), Tiles),
    "running_maximum_from_zero": (low_in_every_product, Tiles),
    "tiles_skipped_by_the_first_diagonal": (
        lambda t: off(t(*three(40, 70), is_causal=True), truth(*three(40, 70), None, True, 30)[0]),
        bottom_right,
    ),
    "splits_over_the_first_lse": (later_split_far_larger, build),
    "maximum_of_full_tiles": (tail_far_larger, build),
    "padding_to_256_is_seen": (lambda t: forward(t, *three(5, 300)), build),
    "causal_again_in_each_chunk": (lambda t: forward(t, *three(40, 40), causal=True), build),
    "grid_of_64": (lambda t: forward(t, *three(B=9, H=8)), build),
    "offsets_of_two_bytes": (lambda t: forward(in_numpy(t), *three(5, 70, d=64, H=4)), by_numpy),
    "causal_positions_of_one_byte": (lambda t: forward(in_numpy(t), *three(140, 140), causal=True), by_numpy),
    "no_keys_give_the_shape_of_the_query": (wide_values_of_no_key, build),
    "key_head_of_a_tile_of_four": (lambda t: forward(t, *three(H=6, H_kv=3, H_kv_v=3)), build),
    "more_heads_than_tokens_is_a_layout": (lambda t: forward(t, *three(5, 5, H=8)), build),
    "packed_heads_are_causal": (lambda t: forward(t, *three(1, 7, H=4, H_kv=2, H_kv_v=2), causal=True), build),
    "padding_of_the_first_sequence": (lambda t: forward(t, *three(), padding), build),
    "masks_of_rows_taken_for_padding": (lambda t: forward(t, *three(B=5), some), build),
    "three_axes_begin_with_the_batch": (lambda t: forward(t, *three(), by_head), build),
    "outer_masks_tiled_over_the_batch": (two_outer_masks, build),
    "one_column_padded_with_open_ones": (lambda t: forward(t, *three(), torch.arange(5)[:, None] != 2), build),
    "masks_read_as_contiguous": (lambda t: forward(t, *three(7, 7), square.mT), build),
    "first_head_masks_a_single_key_head": (
        lambda t: forward(t, *three(H=4, H_kv=1, H_kv_v=1), one_mask_per_head),
        build,
    ),
    "bias_below_minus_10000_hides": (lambda t: forward(t, *three(dtype=torch.float64), row_far_below), build),
    "rows_dead_in_any_head_are_cleared": (lambda t: forward(t, *three(), dead_in_one_head), build),
    "hidden_keys_ten_below_the_minimum": (lambda t: forward(t, *three(), some), build),
    "one_key_ignores_its_bias": (lambda t: forward(t, *three(5, 1), dead_bias), build),
    "bottom_right_never_below_zero": (
        lambda t: off(t(*three(7, 5), is_causal=True), truth(*three(7, 5), None, True, -2)[0]),
        bottom_right,
    ),
    "one_query_sees_everything": (lambda t: forward(t, *three(1, 7), causal=True), build),
    "last_causal_row_beside_a_mask_of_one_row": (
        lambda t: forward(t, *three(), (torch.arange(7) < 4)[None], causal=True),
        build,
    ),
    "causality_by_the_share_of_tokens": (
        lambda t: off(
            t(*(x.transpose(1, 2) for x in three(4, 7)), is_causal=True).transpose(1, 2),
            truth(*three(4, 7), None, True)[0],
        ),
        lambda: (
            lambda q, k, v, is_causal: correct(*(x.transpose(1, 2) for x in (q, k, v)), is_causal=is_causal).transpose(
                1, 2
            )
        ),
    ),
    "weights_from_before_causality": (causal_weights, with_weights),
    "keys_read_as_contiguous": (lambda t: forward(t, three()[0], transposed(three()[1]), three()[2]), build),
    "values_read_by_the_strides_of_keys": (lambda t: forward(t, *three()[:2], transposed(three()[2])), build),
    "values_from_the_start_of_their_storage": (lambda t: forward(t, *three()[:2], normal(5, 2, 7, 8)[2:4]), build),
    "causal_edge_written_into_the_mask": (mask_afterwards, build),
    "query_multiplied_in_place": (query_afterwards, build),
    "single_value_returned_itself": (value_afterwards, build),
    "causality_lost_without_gradients": (without_gradients, build),
}
