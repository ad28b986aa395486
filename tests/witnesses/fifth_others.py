"""The witnesses of the fifth set in the contracts beside attention; see `fifth_witnesses.py`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from witnesses import fourth as fourth_witnesses
from witnesses import second as second_witnesses
from witnesses import third
from witnesses.second import leaves, normal, three
from witnesses.third import in_chunks, off, same, truth, turned

from attention_core.faults import bias, lse, position_table, rotary
from attention_core.faults.kv_cache import Cache
from attention_core.faults.mask_builder import positions, real_keys
from attention_core.faults.multi_head import MultiHead


def in_float64(target: Any) -> float:
    """Chunks of float64."""
    q, k, v = three(5, 5, dtype=torch.float64)
    step = target()
    parts = zip(*(x.split((3, 2), -2) for x in (q, k, v)), strict=True)
    got = torch.cat([step(*part) for part in parts], -2)
    return off(got, truth(q, k, v, torch.ones(5, 5, dtype=torch.bool).tril())[0])


def two_in_turn(target: Any) -> float:
    """A second cache between the steps of a first one."""
    q, k, v = three(2, 2)
    first = target()
    first(*(x[..., :1, :] for x in (q, k, v)))
    target()(*three(1, 1))
    return off(first(*(x[..., 1:, :] for x in (q, k, v))), truth(q[..., 1:, :], k, v)[0])


def interleaved(target: Any) -> float:
    """A rotation of neighbouring pairs."""
    x, places = normal(2, 3, 4, 8), torch.arange(4)
    angle = places[:, None].double() * 10000.0 ** (-torch.arange(4).double() / 4)
    a, b = x.double()[..., 0::2], x.double()[..., 1::2]
    want = torch.stack([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1).flatten(-2)
    return off(target(x, places), want)


def right_interleaved(x: Tensor, places: Tensor) -> Tensor:
    """The correct rotation of neighbouring pairs, by that of halves."""
    halves = torch.cat([x[..., 0::2], x[..., 1::2]], -1)
    return torch.stack(rotary.correct(halves, places).chunk(2, -1), -1).flatten(-2)


def input_afterwards(target: Any) -> float:
    """inf where the input is another afterwards."""
    x = normal(2, 3, 4, 8)
    before = x.clone()
    target(x, torch.arange(4))
    return 0.0 if torch.equal(x, before) else math.inf


def gradient_of_the_norm(target: Any) -> float:
    """d/dx of |turned x|^2 / 2 is x."""
    x = normal(2, 3, 4, 8).requires_grad_()
    (g,) = torch.autograd.grad(target(x, torch.arange(4)).square().sum() / 2, [x])
    return off(g, x.double())


def three_slopes(target: Any) -> float:
    """Three heads: those of two, then the first of four."""
    m = torch.tensor([2.0**-4, 2.0**-8, 2.0**-2], dtype=torch.float64)
    return off(target(3, 3, 3), -m[:, None, None] * (torch.arange(3)[:, None] - torch.arange(3)))


def three_hundred_keys(target: Any) -> float:
    """The last of 300 positions, one head."""
    return off(target(1, 1, 300), -(2.0**-8) * (299 - torch.arange(300).double())[None, None])


def six_hundred_rows(target: Any) -> float:
    """Positions to 599, whose angles float32 holds to 4e-5."""
    angle = torch.arange(600).double()[:, None] * 10000.0 ** (-torch.arange(0, 8, 2).double() / 8)
    return second_witnesses.off(target(600, 8), torch.stack([angle.sin(), angle.cos()], -1).flatten(1), 2e-4)


def right_window(n_q: int, n_kv: int, W: int) -> Tensor:
    """The correct window, from the last key."""
    i, j = positions(n_q, n_kv, "bottom_right")
    return (j <= i) & (j > i - W)


def twice(target: Any) -> float:
    """inf where a module in evaluation gives two results."""
    torch.manual_seed(0)
    made, x = target(8, 2).eval(), normal(2, 9, 8)
    return 0.0 if torch.equal(made(x), made(x)) else math.inf


def module(target: Any, tokens: int, batch: int = 2, **named: Any) -> float:
    """A module of two heads in evaluation against the formula with its weights."""
    torch.manual_seed(0)
    got, want, x = target(8, 2).eval(), MultiHead(8, 2), normal(batch, tokens, 8)
    want.load_state_dict(got.state_dict())
    with torch.no_grad():
        found, true = got(x, **named), want.double()(x.double(), **named)
    return max(map(off, found, true)) if isinstance(found, tuple) else off(found, true)


def gradient_of_lse(target: Any) -> float:
    """dQ and dK of the sum of the log-sum-exp."""
    q, k, v = leaves(*three())
    got = torch.autograd.grad(target(q, k, v)[1].sum(), [q, k])
    want = torch.autograd.grad(torch.logsumexp(q.double() @ k.double().mT / math.sqrt(8), -1).sum(), [q, k])
    return max(off(a, b.double()) for a, b in zip(got, want, strict=True))


def empty_row(target: Any) -> float:
    """inf where the log-sum-exp of a row without keys is not -inf."""
    mask = (torch.arange(5) != 2)[:, None].expand(5, 7)
    return 0.0 if bool((target(*three(), attn_mask=mask)[1][..., 2] == -math.inf).all()) else math.inf


def lse_with(target: Any, **named: Any) -> float:
    """The log-sum-exp with a scale, or with grouped heads."""
    q, k, v = three(H=4, H_kv=2, H_kv_v=2) if named.get("enable_gqa") else three()
    return off(target(q, k, v, **named)[1], truth(q, k, v, scale=named.get("scale"))[1])


lengths = torch.tensor([0, 3])
far_ids = torch.tensor([[0, 256, 256, 1]])
diagonal = torch.eye(5, dtype=torch.bool) | (torch.arange(5) == 4)
Witness = tuple[Callable[[Any], float], Callable[[], Any]]
WITNESS: dict[str, Witness] = {
    "evicted_before_the_step_attends": (lambda t: in_chunks(t, (3, 2, 2), 4), lambda: Cache),
    "long_chunks_keep_two_windows": (lambda t: in_chunks(t, (12,), 4), lambda: Cache),
    "growth_loses_the_values": (lambda t: in_chunks(t, (14, 4), None), lambda: Cache),
    "buffers_of_the_default_dtype": (in_float64, lambda: Cache),
    "forgets_after_256": (lambda t: in_chunks(t, (200, 100), None), lambda: Cache),
    "one_store_for_all_caches": (two_in_turn, lambda: Cache),
    "negative_rows_of_a_table": (
        lambda t: turned(t, normal(2, 3, 4, 8), torch.tensor([-3, -1, 0, 2])), rotary.table_of_each_call,
    ),
    "pairs_at_half_the_exponent": (interleaved, lambda: right_interleaved),
    "rotated_in_place": (input_afterwards, rotary.table_of_each_call),
    "gradient_turned_forward": (gradient_of_the_norm, rotary.table_of_each_call),
    "positions_wrap_at_2048": (
        lambda t: turned(t, normal(2, 3, 2, 2), torch.tensor([1, 2050])), rotary.table_of_each_call,
    ),
    "every_second_slope_of_the_wrong_half": (three_slopes, lambda: bias.correct),
    "distances_up_to_256": (three_hundred_keys, lambda: bias.correct),
    "table_of_512_rows_again": (six_hundred_rows, lambda: position_table.correct),
    "prefix_for_its_own_rows": (
        lambda t: same(t(6, 3, 2, "bottom_right"), fourth_witnesses.right_prefix(6, 3, 2)),
        lambda: lambda n_q, n_kv, P, align: fourth_witnesses.right_prefix(n_q, n_kv, P),
    ),
    "far_edge_without_the_offset": (
        lambda t: same(t(2, 6, 2, "bottom_right"), right_window(2, 6, 2)),
        lambda: lambda n_q, n_kv, W, align: right_window(n_q, n_kv, W),
    ),
    "lengths_raised_to_one": (lambda t: same(t(5, 5, lengths), real_keys(5, 5, lengths)), lambda: real_keys),
    "segments_of_one_byte": (
        lambda t: same(t(4, 4, far_ids), third.right_documents(4, 4, far_ids)), lambda: third.right_documents,
    ),
    "wide_windows_hide_nothing": (
        lambda t: same(t(3, 3, 3), third.right_window(3, 3, 3)), lambda: third.right_window,
    ),
    "evaluation_still_drops": (twice, lambda: MultiHead),
    "open_by_mask_or_causality": (lambda t: module(t, 5, attn_mask=diagonal, is_causal=True), lambda: MultiHead),
    "masks_tiled_over_folded_heads": (lambda t: third.module(t, 8), lambda: MultiHead),
    "merged_by_a_test_of_shapes": (lambda t: module(t, 2), lambda: MultiHead),
    "squeezed_before_the_projection": (lambda t: module(t, 5, batch=1), lambda: MultiHead),
    "weights_by_the_scale_of_the_model": (lambda t: module(t, 5, need_weights=True), lambda: MultiHead),
    "lse_gradient_is_zero": (gradient_of_lse, lse.build_lse),
    "lse_of_dead_rows_is_minus_46": (empty_row, lse.build_lse),
    "lse_at_the_default_scale": (lambda t: lse_with(t, scale=0.3), lse.build_lse),
    "lse_of_groups_in_the_other_order": (lambda t: lse_with(t, enable_gqa=True), lse.build_lse),
}  # fmt: skip
