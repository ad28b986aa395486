"""For every fault of the fifth set: a call, made by hand, on which it is off by more than twenty roundings of its row.

`WITNESS[name]` is a function of a target and a correct one in its place: the error over twenty roundings, by float64
and the formula alone, and the correct one. Those of memory and state, and of the other contracts, have files of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from witnesses import fifth_others as fifth_witnesses_others
from witnesses import fifth_state as fifth_witnesses_state
from witnesses import fourth as fourth_witnesses
from witnesses import third
from witnesses.fifth_state import CALLS, same_bits, some
from witnesses.fourth import gradients, second_derivative
from witnesses.second import leaves, normal, three
from witnesses.third import called, forward, heads_inside, off, truth

from attention_core.faults.bases.arrays import by_numpy
from attention_core.faults.bases.backward import build_backward
from attention_core.faults.bases.reference import build, correct
from attention_core.faults.bases.tiles import Flash, Tiles


def in_numpy(target: Any, layout: str = "bhnd") -> Any:
    """A target of NumPy's arrays for tensors."""

    def attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, **more: Any) -> Tensor:
        given = [x.transpose(1, 2) if layout == "bnhd" else x for x in (query, key, value)]
        masks = () if attn_mask is None else (attn_mask.numpy(),)
        out = torch.from_numpy(target(*(x.numpy() for x in given), *masks, **more))
        return out.transpose(1, 2) if layout == "bnhd" else out

    return attention


# --- scale, scores and softmax --------------------------------------------------------------------


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


# --- masks ----------------------------------------------------------------------------------------


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


# --- backward and dropout -------------------------------------------------------------------------


def scaled(target: Any, scale: float, causal: bool = False) -> float:
    """Gradients with a given scale."""
    given, c = leaves(*three()), normal(2, 2, 5, 8, seed=7)
    got = torch.autograd.grad(called(target, *given, None, causal, scale), given, c)
    want = torch.autograd.grad(truth(*given, None, causal, scale=scale)[0], given, c.double())
    return max(off(a, b.double()) for a, b in zip(got, want, strict=True))


def value_alone(target: Any) -> float:
    """The value's gradient where nothing else asks for one; inf for none."""
    (q, k, v), c = three(), normal(2, 2, 5, 8, seed=7)
    v.requires_grad_()
    (got,) = torch.autograd.grad(target(q, k, v), [v], c, allow_unused=True)
    (want,) = torch.autograd.grad(truth(q, k, v)[0], [v], c.double())
    return math.inf if got is None else off(got, want.double())


def dropped(target: Any, H: int = 1, n_q: int = 1, n_kv: int = 4000, rate: float = 0.5, **named: Any) -> Tensor:
    """Equal weights and values that name their key, under dropout: n_kv times what was kept, (H, n_q, n_kv)."""
    torch.manual_seed(0)
    zeros, eye = (torch.zeros(1, H, n, 2) for n in (n_q, n_kv)), torch.eye(n_kv).expand(1, H, n_kv, n_kv)
    out: Tensor = n_kv * target(*zeros, eye, dropout_p=rate, **named)
    return out[0]


def mean_far_off(found: Tensor, rate: float) -> float:
    """|mean - 1| over ten of its deviations."""
    return float((found.mean() - 1).abs()) / (10 * math.sqrt(rate / (1 - rate) / found.numel()))


def mean_of_calls(target: Any, **named: Any) -> float:
    """The mean of 2000 calls under dropout against the truth, over ten deviations of a normal mean of its spread."""
    torch.manual_seed(0)
    q, k, v = three(3, 6, B=1, H=1)
    outs = torch.stack([target(q, k, v, dropout_p=0.2, **named) for _ in range(CALLS)]).double()
    want = truth(q, k, v, named.get("attn_mask"), named.get("is_causal", False), scale=named.get("scale"))[0]
    return float(((outs.mean(0) - want).abs() / (10 * outs.std(0) / math.sqrt(CALLS)).clamp(min=1e-3)).max())


def repeats(first: Tensor, second: Tensor) -> float:
    """inf where two drawings are one."""
    return math.inf if torch.equal(first, second) else 0.0


hidden_third = torch.arange(6) != 3


Witness = tuple[Callable[[Any], float], Callable[[], Any]]
WITNESS: dict[str, Witness] = {
    "scale_of_the_values": (lambda t: forward(t, *three(d_v=3)), build),
    "default_scale_of_the_padded_head": (lambda t: forward(t, *three(d=6)), build),
    "scale_of_zero_is_none": (lambda t: forward(t, *three(), scale=0.0), build),
    "scale_in_float16": (lambda t: forward(t, *three(), scale=0.3), build),
    "late_heads_scaled_in_bfloat16": (lambda t: forward(t, *three(d=3, H=12)), build),
    "scale_lost_for_causal_groups": (
        lambda t: forward(t, *three(H=4, H_kv=2, H_kv_v=2), causal=True, scale=0.2), build,
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
    "maximum_before_the_scale": (third.wide_negative, build),
    "top_128_scores": (lambda t: forward(t, *three(5, 200)), build),
    "sum_not_rescaled": (lambda t: forward(t, *three(5, 100)), Tiles),
    "last_tile_moved_back": (lambda t: forward(t, *three(5, 20)), Tiles),
    "running_maximum_from_zero": (low_in_every_product, Tiles),
    "tiles_skipped_by_the_first_diagonal": (
        lambda t: off(t(*three(40, 70), is_causal=True), truth(*three(40, 70), None, True, 30)[0]), third.bottom_right,
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
        lambda t: forward(t, *three(H=4, H_kv=1, H_kv_v=1), fourth_witnesses.one_mask_per_head), build,
    ),
    "bias_below_minus_10000_hides": (lambda t: forward(t, *three(dtype=torch.float64), row_far_below), build),
    "rows_dead_in_any_head_are_cleared": (lambda t: forward(t, *three(), dead_in_one_head), build),
    "hidden_keys_ten_below_the_minimum": (lambda t: forward(t, *three(), some), build),
    "one_key_ignores_its_bias": (lambda t: forward(t, *three(5, 1), dead_bias), build),
    "bottom_right_never_below_zero": (
        lambda t: off(t(*three(7, 5), is_causal=True), truth(*three(7, 5), None, True, -2)[0]), third.bottom_right,
    ),
    "one_query_sees_everything": (lambda t: forward(t, *three(1, 7), causal=True), build),
    "last_causal_row_beside_a_mask_of_one_row": (
        lambda t: forward(t, *three(), (torch.arange(7) < 4)[None], causal=True), build,
    ),
    "causality_by_the_share_of_tokens": (
        lambda t: off(
            t(*(x.transpose(1, 2) for x in three(4, 7)), is_causal=True).transpose(1, 2),
            truth(*three(4, 7), None, True)[0],
        ),
        lambda: lambda q, k, v, is_causal: correct(
            *(x.transpose(1, 2) for x in (q, k, v)), is_causal=is_causal
        ).transpose(1, 2),
    ),
    "weights_from_before_causality": (causal_weights, with_weights),
    "key_gradient_by_the_default_scale": (lambda t: scaled(t, 0.3), build_backward),
    "groups_summed_along_the_other_axis": (lambda t: gradients(t, *three(H=6, H_kv=3, H_kv_v=3)), build_backward),
    "cotangent_read_as_contiguous": (
        lambda t: gradients(t, *three(), c=heads_inside(normal(2, 2, 5, 8, seed=7))), Flash,
    ),
    "no_gradient_without_that_of_the_query": (value_alone, build_backward),
    "saved_weights_do_not_move": (second_derivative, build_backward),
    "mask_gradient_of_the_first_head": (lambda t: gradients(t, *three(), normal(1, 1, 5, 7)), Flash),
    "delta_from_an_output_of_two_bytes": (lambda t: gradients(t, *three()), Flash),
    "backward_from_the_last_key": (lambda t: third.backward(t, *three(), True), build_backward),
    "backward_without_finite_bias": (lambda t: gradients(t, *three(), normal(5, 7)), build_backward),
    "kept_weights_over_the_rate": (lambda t: mean_far_off(dropped(t, rate=0.2), 0.2), build),
    "one_dropout_for_all_heads": (lambda t: repeats(*dropped(t, H=2, n_kv=40)), build),
    "dropout_seeded_in_every_call": (
        lambda t: repeats(dropped(t, n_kv=40), dropped(lambda *a, **b: [t(*a, **b) for _ in range(2)][1], n_kv=40)),
        build,
    ),
    "dropout_in_sixteenths": (lambda t: mean_far_off(dropped(t, n_q=100, rate=0.1), 0.1), build),
    "dropout_again_every_16_rows": (lambda t: repeats(*dropped(t, n_q=32, n_kv=40)[0].split(16)), build),
    "default_scale_under_dropout": (lambda t: mean_of_calls(t, scale=3.0), build),
    "causality_lost_with_dropout_and_mask": (
        lambda t: mean_of_calls(t, attn_mask=hidden_third, is_causal=True), build,
    ),
    "backward_draws_its_own_dropout": (third.dropped_after_another_seed, build),
    **fifth_witnesses_state.WITNESS,
    **fifth_witnesses_others.WITNESS,
}  # fmt: skip
