"""For every fault of the fourth set: a call, made by hand, on which it is off by more than twenty roundings of its row.

`WITNESS[name]` is a function of a target and a correct one in its place: the error over twenty roundings, by float64
and the formula alone, and the correct one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from witnesses import second as second_witnesses
from witnesses import third
from witnesses.second import leaves, normal, three
from witnesses.third import called, forward, heads_inside, in_chunks, off, same, truth, turned

from attention_core.faults import bias, dead_rows, lse, position_table, rotary, value
from attention_core.faults.bases.backward import build_backward
from attention_core.faults.bases.reference import build
from attention_core.faults.bases.tiles import Flash, Tiles
from attention_core.faults.kv_cache import Cache
from attention_core.faults.mask_builder import positions, real_keys
from attention_core.faults.multi_head import MultiHead

# --- attention ------------------------------------------------------------------------------------


def gradients(
    target: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, c: Tensor | None = None
) -> float:
    """All gradients, that of a float mask among them, for a cotangent."""
    given = leaves(q, k, v, *([mask] if mask is not None and mask.is_floating_point() else []))
    c = normal(*q.shape[:-1], v.shape[-1], seed=7) if c is None else c
    got = torch.autograd.grad(called(target, q, k, v, mask, False, None), given, c)
    want = torch.autograd.grad(truth(q, k, v, mask)[0], given, c.double())
    return max(off(a, b.double()) for a, b in zip(got, want, strict=True))


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


def second_derivative(target: Any) -> float:
    """d/dK of <dQ, U>, in float64, compared in float32."""
    (q, k, v), u, c = leaves(*three(dtype=torch.float64)), normal(2, 2, 5, 8, seed=3), normal(2, 2, 5, 8, seed=7)

    def of(out: Tensor) -> Tensor:
        (g,) = torch.autograd.grad(out, [q], c.double(), create_graph=True)
        return torch.autograd.grad((g * u.double()).sum(), [k])[0]

    return off(of(target(q, k, v)).float(), of(truth(q, k, v)[0]))


def ones_under_dropout(target: Any) -> float:
    """inf where four equal weights under dropout always sum to 0 or 1."""
    torch.manual_seed(0)
    out = target(torch.zeros(2, 2, 5, 8), torch.zeros(2, 2, 4, 8), torch.ones(2, 2, 4, 8), dropout_p=0.5)
    return math.inf if bool(((out - 1).abs() < 1e-6).logical_or(out == 0).all()) else 0.0


open_but_one = torch.ones(5, 7, dtype=torch.bool)
open_but_one[1, 1] = False
second_head_alone = torch.ones(1, 2, 5, 20, dtype=torch.bool)
second_head_alone[:, 0, :, 16:] = False
one_mask_per_head = (torch.arange(4 * 5 * 7).reshape(1, 4, 5, 7) % 3 > 0) | (torch.arange(7) == 0)


# --- other contracts ------------------------------------------------------------------------------


def second_cache(target: Any) -> float:
    """A cache after another one that was never reset."""
    target()(*three(2, 2))
    return in_chunks(target, (3, 2), None)


def float32_after_bfloat16(target: Any) -> float:
    """A rotation of bfloat16, then one of float32."""
    x, places = normal(2, 3, 5, 8), torch.arange(5)
    target(x.bfloat16(), places)
    return turned(target, x, places)


def ten_slopes(target: Any) -> float:
    """Ten heads: those of eight, then the first and third of sixteen."""
    m = torch.tensor([2.0**-e for e in (1, 2, 3, 4, 5, 6, 7, 8, 0.5, 1.5)], dtype=torch.float64)
    return off(target(10, 3, 3), -m[:, None, None] * (torch.arange(3)[:, None] - torch.arange(3)))


def two_rows_of_five(target: Any) -> float:
    """The last two of five positions, the keys up to each."""
    i, j = torch.arange(3, 5)[:, None], torch.arange(5)
    m = torch.tensor([2.0**-4, 2.0**-8], dtype=torch.float64)[:, None, None]
    return off(target(2, 2, 5) * (j <= i), -m * (i - j) * (j <= i))


def three_hundred_rows(target: Any) -> float:
    """Positions to 299, whose angles float32 holds to 2e-5."""
    angle = torch.arange(300).double()[:, None] * 10000.0 ** (-torch.arange(0, 8, 2).double() / 8)
    return second_witnesses.off(target(300, 8), torch.stack([angle.sin(), angle.cos()], -1).flatten(1), 1e-4)


def right_prefix(n_q: int, n_kv: int, P: int) -> Tensor:
    """The correct prefix, from the last key."""
    i, j = positions(n_q, n_kv, "bottom_right")
    return (j < P) | (j <= i)


def module(target: Any, *calls: dict[str, Any]) -> float:
    """The last of some calls of a module of two heads, and its weights if it gives them, by the formula with its weights."""
    torch.manual_seed(0)
    got, want, x = target(8, 2).eval(), MultiHead(8, 2), normal(2, 5, 8)
    want.load_state_dict(got.state_dict())
    want = want.double()
    with torch.no_grad():
        found, true = [(got(x, **named), want(x.double(), **named)) for named in calls][-1]
    return off(found[1], true[1]) if isinstance(found, tuple) else off(found, true)


ids = torch.tensor([[1, 1, 2, 1]])
lengths = torch.tensor([0, 3])
lower = torch.eye(5, dtype=torch.bool) | (torch.arange(5) == 2)
Witness = tuple[Callable[[Any], float], Callable[[], Any]]
WITNESS: dict[str, Witness] = {
    "splits_without_keys_weigh_one": (lambda t: forward(t, *three(5, 20), torch.arange(20) >= 8), build),
    "maximum_never_below_zero": (third.low_scores, Tiles),
    "maximum_times_a_negative_scale": (third.wide_negative, build),
    "maximum_of_whole_groups_of_eight": (one_high_key_in_the_tail, build),
    "one_key_weighs_one": (lambda t: forward(t, *three(5, 1), torch.arange(5)[:, None] > 1), build),
    "hidden_twice_is_hidden_more": (empty_rows_of_a_causal_call, dead_rows.dead_rows_are_means),
    "weights_of_dead_rows_are_nan": (weights_beside, value.correct_with_weights),
    "every_nan_becomes_zero": (nan_of_a_query, build),
    "features_behind_the_last_eight": (lambda t: forward(t, *three(d=12)), build),
    "keys_of_zeros_are_padding": (one_key_of_zeros, build),
    "values_by_the_strides_of_keys": (lambda t: forward(t, *three()[:2], heads_inside(three()[2])), build),
    "head_masks_by_the_key_head": (
        lambda t: forward(t, *three(H=4, H_kv=2, H_kv_v=2), one_mask_per_head), build,
    ),
    "square_masks_taken_for_padding": (
        lambda t: forward(t, *three(2, 7), torch.arange(14).reshape(2, 7) % 3 > 0), build,
    ),
    "blocks_skipped_by_the_first_mask": (lambda t: forward(t, *three(5, 20), second_head_alone), build),
    "blocks_full_by_their_corners": (lambda t: forward(t, *three(), open_but_one), build),
    "masks_of_two_batch_axes_in_the_wrong_order": (third.two_batch_axes, build),
    "causality_lost_beside_a_float_mask": (lambda t: forward(t, *three(5, 5), normal(5, 5), causal=True), build),
    "backward_aligned_top_left": (lambda t: third.backward(t, *three(3, 5), True, 2), third.bottom_right),
    "groups_averaged_in_the_backward": (lambda t: gradients(t, *three(H=4, H_kv=2, H_kv_v=2)), build),
    "mask_gradient_times_the_scale": (lambda t: gradients(t, *three(), normal(5, 7)), Flash),
    "cotangent_by_the_strides_of_the_output": (
        lambda t: gradients(t, *three(), c=heads_inside(normal(2, 2, 5, 8, seed=7))), Flash,
    ),
    "dead_rows_patched_behind_the_softmax": (
        lambda t: gradients(t, *three(), (torch.arange(5) > 0)[:, None].expand(5, 7)), build,
    ),
    "saved_weights_are_constants": (second_derivative, build_backward),
    "dropout_before_the_sum": (ones_under_dropout, build),
    "recomputed_with_a_new_dropout_mask": (third.dropped_after_another_seed, build),
    "rolled_one_step_early": (lambda t: in_chunks(t, (1,) * 6, 4), lambda: Cache),
    "evicted_before_a_chunk_attends": (lambda t: in_chunks(t, (6, 3), 4), lambda: Cache),
    "chunk_clamped_to_the_end": (lambda t: in_chunks(t, (14, 4), None), lambda: Cache),
    "list_of_the_class": (second_cache, lambda: Cache),
    "negative_positions_from_the_end": (
        lambda t: turned(t, normal(2, 3, 4, 8), torch.arange(-3, 1)), rotary.table_of_each_call,
    ),
    "tables_without_their_dtype": (float32_after_bfloat16, rotary.table_of_each_call),
    "pairs_behind_the_last_four": (
        lambda t: turned(t, normal(2, 3, 4, 10), torch.arange(4)), rotary.table_of_each_call,
    ),
    "slopes_of_two_bytes": (ten_slopes, lambda: bias.correct),
    "distances_from_the_first_row": (two_rows_of_five, lambda: bias.correct),
    "positions_of_two_bytes": (three_hundred_rows, lambda: position_table.correct),
    "prefix_in_rows": (lambda t: same(t(6, 3, 2), right_prefix(6, 3, 2)), lambda: right_prefix),
    "segments_by_runs": (
        lambda t: same(t(4, 4, ids), third.right_documents(4, 4, ids)), lambda: third.right_documents,
    ),
    "lengths_of_one_at_least": (lambda t: same(t(5, 5, lengths), real_keys(5, 5, lengths)), lambda: real_keys),
    "masks_of_sequences_for_heads": (lambda t: third.module(t, 8), lambda: MultiHead),
    "weights_without_causality": (lambda t: module(t, {"is_causal": True, "need_weights": True}), lambda: MultiHead),
    "triangle_keeps_a_mask": (
        lambda t: module(t, {"is_causal": True, "attn_mask": lower}, {"is_causal": True}), lambda: MultiHead,
    ),
    "lse_of_the_maximum_not_applied": (lambda t: third.of_lse(t, *three(5, 20)), lse.build_lse),
}  # fmt: skip
