"""Witnesses of faults of backward passes and of dropout.

`WITNESS` has, by the name of a fault, how far a target is off on the call that shows it, and a correct target in its place.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from witnesses.measures import (
    BF16,
    CALLS,
    Witness,
    backward,
    bottom_right,
    called,
    distance,
    excess_with_gradients,
    heads_inside,
    leaves,
    normal,
    off,
    three,
    truth,
)

from attention_core.faults.bases.backward import build_backward
from attention_core.faults.bases.reference import build
from attention_core.faults.bases.tiles import Flash


def hidden_from_the_first_head(target: Any) -> float:
    """Two heads, the first of which sees nothing of the second block of keys."""
    mask = torch.ones(1, 2, 5, 20, dtype=torch.bool)
    mask[:, 0, :, 16:] = False
    return excess_with_gradients(target, *leaves(*three(5, 20)), mask, cotangent=normal(2, 2, 5, 8))


def many_rows_share_a_mask(target: Any) -> float:
    """A bias of the keys in bfloat16, for 8 sequences, 4 heads and 16 queries, that all want more of the first key."""
    q, k, v = three(16, 9, B=8, H=4, dtype=BF16)
    v[..., 0, :] += 3
    mask = normal(1, 1, 1, 9, dtype=BF16)
    return excess_with_gradients(target, *leaves(q, k, v, mask), cotangent=torch.ones(8, 4, 16, 8, dtype=BF16))


def one_tensor_for_both(target: Any) -> float:
    """Keys that are the values."""
    q, k = leaves(*three()[:2])
    return excess_with_gradients(target, q, k, k, cotangent=normal(2, 2, 5, 8))


def causal_after_another(target: Any) -> float:
    """A backward over all keys, then a causal one of the same sizes."""
    cotangent = normal(2, 2, 5, 8)
    excess_with_gradients(target, *leaves(*three(5, 40)), cotangent=cotangent)
    return excess_with_gradients(target, *leaves(*three(5, 40)), causal=True, cotangent=cotangent)


def overlapping(target: Any) -> float:
    """What rows drop, seen through equal weights and values that name their key: inf where rows share 16 keys further."""
    torch.manual_seed(0)
    out = target(torch.zeros(4, 4, 6, 2), torch.zeros(4, 4, 20, 2), torch.eye(20).expand(4, 4, 20, 20), dropout_p=0.5)
    return math.inf if torch.equal(out[..., :-1, 16:] > 0, out[..., 1:, :4] > 0) else 0.0


def difference_quotient(target: Any) -> float:
    """The query's gradient under dropout against a central difference with the same random numbers."""
    (q, k, v), u, c, step = three(dtype=torch.float64), normal(2, 2, 5, 8), normal(2, 2, 5, 8), 1e-5

    def loss(x: Tensor) -> Tensor:
        torch.manual_seed(3)
        return (target(x, k, v, dropout_p=0.5) * c).sum()

    slope = (loss(q + step * u) - loss(q - step * u)) / (2 * step)
    (g,) = torch.autograd.grad(loss(q.requires_grad_()), [q])
    return distance((g * u).sum(), slope, 1e-7 * float((g * u).abs().sum()))


grouped = lambda t: excess_with_gradients(  # noqa: E731
    t, *leaves(*three(H=6, H_kv=2, H_kv_v=2)), cotangent=normal(2, 6, 5, 8)
)


def one_projection(target: Any) -> float:
    """Queries, keys and values that are slices of one tensor (B, n, 3, H, d)."""
    return backward(target, *(x.transpose(1, 2) for x in normal(2, 5, 3, 2, 8).unbind(2)))


def dropped_after_another_seed(target: Any) -> float:
    """The value's gradient under dropout: with V -> V + U the output moves by P' U, and <P'^T C, U> is <C, P' U>."""
    (q, k, v), u, c = three(dtype=torch.float64), normal(2, 2, 7, 8, seed=5).double(), normal(2, 2, 5, 8).double()
    v.requires_grad_()

    def out(seed: int, x: Tensor) -> Tensor:
        torch.manual_seed(seed)
        found: Tensor = target(q, k, x, dropout_p=0.5)
        return found

    moved = out(3, (v + u).detach()) - out(3, v.detach())
    out(4, v.detach())
    (g,) = torch.autograd.grad(out(3, v), [v], c)
    return off((g * u).sum()[None], (moved * c).sum()[None])


def gradients(
    target: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, c: Tensor | None = None
) -> float:
    """All gradients, that of a float mask among them, for a cotangent."""
    given = leaves(q, k, v, *([mask] if mask is not None and mask.is_floating_point() else []))
    c = normal(*q.shape[:-1], v.shape[-1], seed=7) if c is None else c
    got = torch.autograd.grad(called(target, q, k, v, mask, False, None), given, c)
    want = torch.autograd.grad(truth(q, k, v, mask)[0], given, c.double())
    return max(off(a, b.double()) for a, b in zip(got, want, strict=True))


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


WITNESS: dict[str, Witness] = {
    "group_found_by_the_number_of_key_heads": (grouped, Flash),
    "diagonal_rows_missing_from_key_gradients": (
        lambda t: excess_with_gradients(t, *leaves(*three(40, 40)), causal=True, cotangent=normal(2, 2, 40, 8)),
        Flash,
    ),
    "query_gradient_skips_blocks_by_the_first_head": (hidden_from_the_first_head, Flash),
    "mask_gradient_added_in_its_dtype": (many_rows_share_a_mask, Flash),
    "shared_key_and_value_counted_twice": (one_tensor_for_both, Flash),
    "unseen_keys_keep_an_old_gradient": (causal_after_another, Flash),
    "random_numbers_overlap_between_rows": (overlapping, build),
    "score_gradient_from_dropped_weights": (difference_quotient, build),
    "value_gradient_spills_into_the_next_head": (lambda t: backward(t, *three()), Flash),
    "delta_found_in_another_tile": (lambda t: backward(t, *three()), Flash),
    "value_gradient_in_chunks_of_the_key_width": (lambda t: backward(t, *three(d=16, d_v=12)), Flash),
    "keys_transposed_twice_in_the_backward": (lambda t: backward(t, *three(5, 3, H=3)), Flash),
    "nan_query_gradient_above_the_first_key": (lambda t: backward(t, *three(5, 3), True, -2), bottom_right),
    "no_queries_leave_key_gradients_unwritten": (lambda t: backward(t, *three(0, 7)), Flash),
    "value_gradient_of_a_fused_projection": (one_projection, Flash),
    "dropout_seed_of_the_call_before": (dropped_after_another_seed, build),
    "backward_aligned_top_left": (lambda t: backward(t, *three(3, 5), True, 2), bottom_right),
    "groups_averaged_in_the_backward": (lambda t: gradients(t, *three(H=4, H_kv=2, H_kv_v=2)), build),
    "mask_gradient_times_the_scale": (lambda t: gradients(t, *three(), normal(5, 7)), Flash),
    "cotangent_by_the_strides_of_the_output": (
        lambda t: gradients(t, *three(), c=heads_inside(normal(2, 2, 5, 8, seed=7))),
        Flash,
    ),
    "dead_rows_patched_behind_the_softmax": (
        lambda t: gradients(t, *three(), (torch.arange(5) > 0)[:, None].expand(5, 7)),
        build,
    ),
    "saved_weights_are_constants": (second_derivative, build_backward),
    "dropout_before_the_sum": (ones_under_dropout, build),
    "recomputed_with_a_new_dropout_mask": (dropped_after_another_seed, build),
    "key_gradient_by_the_default_scale": (lambda t: scaled(t, 0.3), build_backward),
    "groups_summed_along_the_other_axis": (lambda t: gradients(t, *three(H=6, H_kv=3, H_kv_v=3)), build_backward),
    "cotangent_read_as_contiguous": (
        lambda t: gradients(t, *three(), c=heads_inside(normal(2, 2, 5, 8, seed=7))),
        Flash,
    ),
    "no_gradient_without_that_of_the_query": (value_alone, build_backward),
    "saved_weights_do_not_move": (second_derivative, build_backward),
    "mask_gradient_of_the_first_head": (lambda t: gradients(t, *three(), normal(1, 1, 5, 7)), Flash),
    "delta_from_an_output_of_two_bytes": (lambda t: gradients(t, *three()), Flash),
    "backward_from_the_last_key": (lambda t: backward(t, *three(), True), build_backward),
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
        lambda t: mean_of_calls(t, attn_mask=hidden_third, is_causal=True),
        build,
    ),
    "backward_draws_its_own_dropout": (dropped_after_another_seed, build),
}
