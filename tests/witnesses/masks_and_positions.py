"""Witnesses of faults of mask builders, rotations, biases and tables of positions.

`WITNESS` has, by the name of a fault, how far a target is off on the call that shows it, and a correct target in its place.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from witnesses.measures import Witness, distance, heads_inside, normal, off

from attention_core.faults import bias, position_table, rotary
from attention_core.faults.mask_builder import positions, real_keys


def rotated(x: Tensor, places: Tensor) -> Tensor:
    """The rotation by halves, in float64."""
    half = x.shape[-1] // 2
    angle = places[:, None].double() * 10000.0 ** (-torch.arange(half).double() / half)
    a, b = x.detach().double().chunk(2, -1)
    return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)


def table_after_bfloat16(target: Any) -> float:
    """A rotation of bfloat16, then one of float32."""
    x, places = normal(1, 2, 5, 8), torch.arange(5)
    target(x.bfloat16(), places)
    return distance(target(x, places), rotated(x, places), 1e-5)


def rotation_gradient(target: Any) -> float:
    """The gradient of a rotation is the rotation back."""
    x, c, places = normal(1, 2, 5, 8).requires_grad_(), normal(1, 2, 5, 8, seed=1), torch.arange(5)
    (g,) = torch.autograd.grad(target(x, places), [x], c)
    return distance(g, rotated(c, -places), 1e-5)


def four_heads_after_eight(target: Any) -> float:
    """Slopes 1/4, 1/16, 1/64, 1/256, after a call with eight heads."""
    target(8, 3, 3)
    behind = torch.arange(3)[:, None] - torch.arange(3)
    return distance(target(4, 3, 3), -(0.25 ** torch.arange(1, 5).double())[:, None, None] * behind, 1e-6)


def eight_rows_of_sines(target: Any) -> float:
    """Eight positions: angles up to 7, which float32 holds to 5e-7."""
    angle = torch.arange(8)[:, None] * 10000.0 ** (-torch.arange(0, 8, 2).double() / 8)
    return distance(target(8, 8), torch.stack([angle.sin(), angle.cos()], -1).flatten(1), 2e-6)


def window_at_the_end(target: Any) -> float:
    """Three queries at the end of nine keys, a window of two."""
    want = torch.tensor([[6 + i - 2 < j <= 6 + i for j in range(9)] for i in range(3)])
    return 0.0 if torch.equal(target(3, 9, 2, align="bottom_right"), want) else math.inf


def lower_window(n_q: int, n_kv: int, W: int, align: str = "top_left") -> Tensor:
    """The correct window."""
    i, j = positions(n_q, n_kv, align)
    return (j <= i) & (j > i - W)


def turned(target: Any, x: Tensor, places: Tensor) -> float:
    """A rotation by halves."""
    half = x.shape[-1] // 2
    angle = places[:, None].double() * 10000.0 ** (-torch.arange(half).double() / half)
    a, b = x.double().chunk(2, -1)
    want = torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)
    return off(target(x, places), want)


def six_slopes(target: Any) -> float:
    """Six heads: those of four, then the first and third of eight."""
    m = torch.tensor([2.0**-e for e in (2, 4, 6, 8, 1, 3)], dtype=torch.float64)
    return off(target(6, 3, 3), -m[:, None, None] * (torch.arange(3)[:, None] - torch.arange(3)))


def same(got: Tensor, want: Tensor) -> float:
    """0 for equal masks, inf for others."""
    return 0.0 if got.shape == want.shape and torch.equal(got, want) else math.inf


def right_window(n_q: int, n_kv: int, W: int, align: str = "top_left") -> Tensor:
    """The correct window."""
    i, j = positions(n_q, n_kv, align)
    return (j <= i) & (j > i - W)


def right_documents(n_q: int, n_kv: int, ids: Tensor) -> Tensor:
    """The correct mask of documents."""
    return (ids[:, :n_q, None] == ids[:, None, :n_kv])[:, None]


def rows_of_a_view(target: Any) -> float:
    """Three heads, four tokens, heads inside tokens."""
    return turned(target, heads_inside(normal(2, 3, 4, 8)), torch.arange(4))


ids = torch.tensor([[0, 1, 1, 2, 2]])


lengths = torch.tensor([2, 5, 3])


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
    return distance(target(300, 8), torch.stack([angle.sin(), angle.cos()], -1).flatten(1), 1e-4)


def right_prefix(n_q: int, n_kv: int, P: int) -> Tensor:
    """The correct prefix, from the last key."""
    i, j = positions(n_q, n_kv, "bottom_right")
    return (j < P) | (j <= i)


ids_in_runs = torch.tensor([[1, 1, 2, 1]])


first_is_empty = torch.tensor([0, 3])


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
    return distance(target(600, 8), torch.stack([angle.sin(), angle.cos()], -1).flatten(1), 2e-4)


def wide_window(n_q: int, n_kv: int, W: int) -> Tensor:
    """The correct window, from the last key."""
    i, j = positions(n_q, n_kv, "bottom_right")
    return (j <= i) & (j > i - W)


far_ids = torch.tensor([[0, 256, 256, 1]])


WITNESS: dict[str, Witness] = {
    "table_cast_down_for_good": (table_after_bfloat16, rotary.table_of_each_call),
    "backward_turns_forward_again": (rotation_gradient, rotary.table_of_each_call),
    "slopes_of_the_largest_model_so_far": (four_heads_after_eight, lambda: bias.correct),
    "sines_by_interpolation": (eight_rows_of_sines, lambda: position_table.correct),
    "lower_edge_stays_top_left": (window_at_the_end, lambda: lower_window),
    "single_token_rotation_of_the_first_sequence": (
        lambda t: turned(t, normal(2, 3, 1, 8), torch.tensor([3])),
        rotary.table_of_each_call,
    ),
    "rows_of_a_view_counted_by_heads": (rows_of_a_view, rotary.table_of_each_call),
    "slopes_sorted": (six_slopes, lambda: bias.correct),
    "window_cut_off_the_wrong_side": (lambda t: same(t(7, 7, 2), right_window(7, 7, 2)), lambda: right_window),
    "documents_read_as_a_mask": (lambda t: same(t(5, 5, ids), right_documents(5, 5, ids)), lambda: right_documents),
    "lengths_sorted_for_packing": (lambda t: same(t(5, 5, lengths), real_keys(5, 5, lengths)), lambda: real_keys),
    "negative_positions_from_the_end": (
        lambda t: turned(t, normal(2, 3, 4, 8), torch.arange(-3, 1)),
        rotary.table_of_each_call,
    ),
    "tables_without_their_dtype": (float32_after_bfloat16, rotary.table_of_each_call),
    "pairs_behind_the_last_four": (
        lambda t: turned(t, normal(2, 3, 4, 10), torch.arange(4)),
        rotary.table_of_each_call,
    ),
    "slopes_of_two_bytes": (ten_slopes, lambda: bias.correct),
    "distances_from_the_first_row": (two_rows_of_five, lambda: bias.correct),
    "positions_of_two_bytes": (three_hundred_rows, lambda: position_table.correct),
    "prefix_in_rows": (lambda t: same(t(6, 3, 2), right_prefix(6, 3, 2)), lambda: right_prefix),
    "segments_by_runs": (
        lambda t: same(t(4, 4, ids_in_runs), right_documents(4, 4, ids_in_runs)),
        lambda: right_documents,
    ),
    "lengths_of_one_at_least": (
        lambda t: same(t(5, 5, first_is_empty), real_keys(5, 5, first_is_empty)),
        lambda: real_keys,
    ),
    "negative_rows_of_a_table": (
        lambda t: turned(t, normal(2, 3, 4, 8), torch.tensor([-3, -1, 0, 2])),
        rotary.table_of_each_call,
    ),
    "pairs_at_half_the_exponent": (interleaved, lambda: right_interleaved),
    "rotated_in_place": (input_afterwards, rotary.table_of_each_call),
    "gradient_turned_forward": (gradient_of_the_norm, rotary.table_of_each_call),
    "positions_wrap_at_2048": (
        lambda t: turned(t, normal(2, 3, 2, 2), torch.tensor([1, 2050])),
        rotary.table_of_each_call,
    ),
    "every_second_slope_of_the_wrong_half": (three_slopes, lambda: bias.correct),
    "distances_up_to_256": (three_hundred_keys, lambda: bias.correct),
    "table_of_512_rows_again": (six_hundred_rows, lambda: position_table.correct),
    "prefix_for_its_own_rows": (
        lambda t: same(t(6, 3, 2, "bottom_right"), right_prefix(6, 3, 2)),
        lambda: lambda n_q, n_kv, P, align: right_prefix(n_q, n_kv, P),
    ),
    "far_edge_without_the_offset": (
        lambda t: same(t(2, 6, 2, "bottom_right"), wide_window(2, 6, 2)),
        lambda: lambda n_q, n_kv, W, align: wide_window(n_q, n_kv, W),
    ),
    "lengths_raised_to_one": (
        lambda t: same(t(5, 5, first_is_empty), real_keys(5, 5, first_is_empty)),
        lambda: real_keys,
    ),
    "segments_of_one_byte": (
        lambda t: same(t(4, 4, far_ids), right_documents(4, 4, far_ids)),
        lambda: right_documents,
    ),
    "wide_windows_hide_nothing": (
        lambda t: same(t(3, 3, 3), right_window(3, 3, 3)),
        lambda: right_window,
    ),
}
