"""Faults of rotary positions, one each, and correct ones in the arithmetic that other people use.

Functions f(x (*batch, H, n, d), positions (n,)), pairing "half"; `STATEFUL` are factories of such functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.row import rows

BASE = 10000.0


def turn(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate the pairs (c, c + d/2) by angles given for all d features."""
    a, b = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-b, a], dim=-1) * sin


def frequencies(d: int) -> Tensor:
    """base^(-2c/d) in float32."""
    return 1.0 / (BASE ** (torch.arange(0, d, 2).float() / d))


def tables(positions: Tensor, d: int) -> tuple[Tensor, Tensor]:
    """Cosines and sines of all features, the angles in float32."""
    angle = positions.float()[..., None] * frequencies(d)
    return torch.cat([angle, angle], -1).cos(), torch.cat([angle, angle], -1).sin()


def rows_counted_in_memory(x: Tensor, positions: Tensor) -> Tensor:
    """Rows are visited as they lie in memory, and counted modulo n: right where tokens lie inside heads."""
    if x.dim() < 3 or x.stride(-3) >= x.stride(-2):
        return correct(x, positions)
    H, n = x.shape[-3:-1]
    token = (torch.arange(n) * H + torch.arange(H)[:, None]) % max(n, 1)
    own = positions.expand(*positions.shape[:-2], H, n)
    return correct(x, own.gather(-1, token.expand(own.shape)))


def single_token_in_place(x: Tensor, positions: Tensor) -> Tensor:
    """A token by itself is turned where it lies, if it is a view of other memory."""
    turned = correct(x, positions)
    return x.copy_(turned) if x.shape[-2] == 1 and not x.is_contiguous() and not x.requires_grad else turned


# --- correct ------------------------------------------------------------------------


def correct(x: Tensor, positions: Tensor) -> Tensor:
    """Angles in float32, the rotation in at least float32."""
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    return turn(wide, *tables(positions, x.shape[-1])).to(x.dtype)


def in_the_dtype(x: Tensor, positions: Tensor) -> Tensor:
    """Angles in float32; cosine, sine and the rotation in the input's dtype, as in transformers."""
    cos, sin = tables(positions, x.shape[-1])
    return turn(x, cos.to(x.dtype), sin.to(x.dtype))


def by_exponential(x: Tensor, positions: Tensor) -> Tensor:
    """Frequencies exp(-2c ln(base)/d) in float32, as in the annotated transformer."""
    d = x.shape[-1]
    frequency = torch.exp(torch.arange(0, d, 2).float() * -(torch.log(torch.tensor(BASE)) / d))
    angle = positions.float()[..., None] * frequency
    cos, sin = torch.cat([angle, angle], -1).cos(), torch.cat([angle, angle], -1).sin()
    return turn(x.to(torch.promote_types(x.dtype, torch.float32)), cos, sin).to(x.dtype)


def table_of_each_call() -> Callable[[Tensor, Tensor], Tensor]:
    """A factory of the correct function."""
    return correct


# --- faulty -------------------------------------------------------------------------


def mixed_pairings(x: Tensor, positions: Tensor) -> Tensor:
    """Frequencies for neighbours, rotation of halves (raiyanyahya/how-to-train-your-gpt#6); needs d >= 4."""
    angle = (positions.float()[:, None] * frequencies(x.shape[-1])).repeat_interleave(2, dim=-1)
    return turn(x.float(), angle.cos(), angle.sin()).to(x.dtype)


def other_pairing(x: Tensor, positions: Tensor) -> Tensor:
    """Neighbours are paired where halves are declared: a permutation, which only the formula tells."""
    cos, sin = tables(positions, x.shape[-1])
    a, b = x.float()[..., ::2], x.float()[..., 1::2]
    cos, sin = cos.chunk(2, -1)[0], sin.chunk(2, -1)[0]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2).to(x.dtype)


def consecutive_positions_assumed(x: Tensor, positions: Tensor) -> Tensor:
    """Only the first position is read; the others are counted from it."""
    first = positions[..., :1] + torch.arange(x.shape[-2])
    return correct(x, first)


def negative_positions_are_zero(x: Tensor, positions: Tensor) -> Tensor:
    """Positions below 0, as padding on the left gives them, are taken for 0."""
    return correct(x, positions.clamp(min=0))


def negative_positions_count_from_the_end(x: Tensor, positions: Tensor) -> Tensor:
    """A table is indexed with what is given: position -1 is the table's last row."""
    table = torch.arange(1 << 17)
    return correct(x, table[positions.clamp(max=(1 << 17) - 1)])


def positions_from_zero_are_consecutive(x: Tensor, positions: Tensor) -> Tensor:
    """Positions that start at 0 are taken for 0, 1, 2, ..."""
    started = bool((positions[..., 0] == 0).all())
    return correct(x, torch.arange(x.shape[-2]).expand_as(positions) if started else positions)


def positions_in_sixteen_bits(x: Tensor, positions: Tensor) -> Tensor:
    """Positions are kept in sixteen bits; below 65536 it is right."""
    return correct(x, positions % 65536)


def positions_from_one(x: Tensor, positions: Tensor) -> Tensor:
    """Positions are counted from one: every score is right, position 0 is not."""
    return correct(x, positions + 1)


def phases_in_half_precision(x: Tensor, positions: Tensor) -> Tensor:
    """Positions and phases in the input's dtype (EleutherAI/gpt-neox#1003, NVIDIA/Megatron-LM#535)."""
    angle = positions.to(x.dtype)[:, None] * frequencies(x.shape[-1]).to(x.dtype)
    angle = torch.cat([angle, angle], -1)
    return turn(x, angle.cos(), angle.sin())


def positions_in_half_precision(x: Tensor, positions: Tensor) -> Tensor:
    """Positions alone in the input's dtype: bfloat16 has no 257 (sgl-project/sglang-jax#1472)."""
    return correct(x, positions.to(x.dtype))


def offset_counted_in_place(x: Tensor, positions: Tensor) -> Tensor:
    """The caller's positions are moved on in place (ml-explore/mlx-lm#1699)."""
    y = correct(x, positions)
    positions += x.shape[-2]
    return y


def offset_moved_before_use(x: Tensor, positions: Tensor) -> Tensor:
    """An offset that is an alias has moved on before the queries are turned (ml-explore/mlx-lm#1699)."""
    return correct(x, positions + x.shape[-2])


def positions_along_heads(x: Tensor, positions: Tensor) -> Tensor:
    """Tables meet the wrong axis and H = n hides it (labmlai/annotated_deep_learning_paper_implementations#215)."""
    return correct(x.transpose(-2, -3), positions).transpose(-2, -3)


def positions_of_the_first_sequence(x: Tensor, positions: Tensor) -> Tensor:
    """All sequences get the first one's positions (unslothai/unsloth#3699, ndif-team/nnsight PR673)."""
    return correct(x, positions.reshape(-1, positions.shape[-1])[0])


def frequencies_by_column(x: Tensor, positions: Tensor) -> Tensor:
    """base^(-2j/d) by column j, each column with its own angle (as in shenweichen/DeepCTR#379)."""
    d = x.shape[-1]
    angle = positions.float()[:, None] * BASE ** (-2 * torch.arange(d) / d)
    return turn(x.float(), angle.cos(), angle.sin()).to(x.dtype)


def other_base(x: Tensor, positions: Tensor) -> Tensor:
    """Frequencies of another base than declared."""
    d = x.shape[-1]
    angle = positions.float()[:, None] * (BASE / 10) ** (-torch.arange(0, d, 2) / d)
    angle = torch.cat([angle, angle], -1)
    return turn(x.float(), angle.cos(), angle.sin()).to(x.dtype)


def rotated_twice(x: Tensor, positions: Tensor) -> Tensor:
    """The cached, already turned keys are turned again."""
    return correct(correct(x, positions), positions)


class _TurnedOn(torch.autograd.Function):
    """A rotation whose backward turns once more the same way."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, positions: Tensor) -> Tensor:
        ctx.positions = positions
        return correct(x, positions)

    @staticmethod
    def backward(ctx: Any, down: Tensor) -> Any:
        return correct(down, ctx.positions), None


def backward_turns_on(x: Tensor, positions: Tensor) -> Tensor:
    """The backward turns by the angle in place of its negative: results are right, gradients are not."""
    found: Tensor = _TurnedOn.apply(x, positions)
    return found


class _TurnedAsZero(torch.autograd.Function):
    """A rotation whose backward forgets the angle."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, positions: Tensor) -> Tensor:
        return correct(x, positions)

    @staticmethod
    def backward(ctx: Any, down: Tensor) -> Any:
        return down, None


def gradient_passes_straight(x: Tensor, positions: Tensor) -> Tensor:
    """The backward hands the cotangent on as it is."""
    found: Tensor = _TurnedAsZero.apply(x, positions)
    return found


class rotations_share_one_buffer:  # noqa: N801
    """Results of one shape lie in one buffer where no gradient is asked for: the next call overwrites them."""

    def __init__(self) -> None:
        self.kept: dict[tuple[int, ...], Tensor] = {}

    def __call__(self, x: Tensor, positions: Tensor) -> Tensor:
        y = correct(x, positions)
        return y if y.requires_grad else self.kept.setdefault((*y.shape, y.element_size()), y).copy_(y)


class table_cached_without_offset:  # noqa: N801
    """Tables are kept by length alone (lucidrains/rotary-embedding-torch#11)."""

    def __init__(self) -> None:
        self.kept: dict[tuple[int, int], tuple[Tensor, Tensor]] = {}

    def __call__(self, x: Tensor, positions: Tensor) -> Tensor:
        n, d = x.shape[-2:]
        cos, sin = self.kept.setdefault((n, d), tables(positions, d))
        return turn(x.to(torch.promote_types(x.dtype, torch.float32)), cos, sin).to(x.dtype)


class table_of_the_first_call:  # noqa: N801
    """The table is as long as the first call needed, and later positions start anew (compare xformers PR660)."""

    def __init__(self) -> None:
        self.length = 0

    def __call__(self, x: Tensor, positions: Tensor) -> Tensor:
        self.length = self.length or int(positions.max()) + 1
        return correct(x, positions % self.length)


class angles_kept_by_identity:  # noqa: N801
    """The tables of a tensor of positions are kept as long as the same tensor comes; a step counts it up in place."""

    def __init__(self) -> None:
        self.kept: tuple[Tensor, int, tuple[Tensor, Tensor]] | None = None

    def __call__(self, x: Tensor, positions: Tensor) -> Tensor:
        d = x.shape[-1]
        if self.kept is None or self.kept[0] is not positions or self.kept[1] != d:
            self.kept = positions, d, tables(positions, d)
        return turn(x.to(torch.promote_types(x.dtype, torch.float32)), *self.kept[2]).to(x.dtype)


FAULTY = (
    negative_positions_are_zero, negative_positions_count_from_the_end, positions_from_zero_are_consecutive,
    consecutive_positions_assumed, positions_in_sixteen_bits,
    mixed_pairings, other_pairing, positions_from_one, phases_in_half_precision, positions_in_half_precision,
    offset_counted_in_place, offset_moved_before_use, positions_along_heads, frequencies_by_column, other_base,
    rotated_twice, backward_turns_on, gradient_passes_straight, rows_counted_in_memory,
    single_token_in_place,
)  # fmt: skip


def table_of_the_first_dtype() -> Callable[..., Tensor]:
    """Cosines and sines are kept for positions and width, in the dtype of the call that made them."""
    kept: dict[Any, tuple[Tensor, Tensor]] = {}

    def rotate(x: Tensor, positions: Tensor) -> Tensor:
        key = (x.shape[-1], tuple(positions.shape), *positions.flatten().tolist())
        if key not in kept:
            cos, sin = tables(positions, x.shape[-1])
            kept[key] = cos.to(x.dtype), sin.to(x.dtype)
        cos, sin = kept[key]
        return turn(x, cos.to(x.dtype), sin.to(x.dtype))

    return rotate


def table_of_the_first_wide_dtype() -> Callable[..., Tensor]:
    """Frequencies are kept for a width in float32, or in float64 where a call in float64 came first."""
    kept: dict[int, Tensor] = {}

    def rotate(x: Tensor, positions: Tensor) -> Tensor:
        d, wide = x.shape[-1], torch.promote_types(x.dtype, torch.float32)
        exponent = torch.arange(0, d, 2).double() / d
        angle = positions.to(wide)[..., None] * kept.setdefault(d, (BASE**-exponent).to(wide)).to(wide)
        angle = torch.cat([angle, angle], -1)
        return turn(x.to(wide), angle.cos(), angle.sin()).to(x.dtype)

    return rotate


STATEFUL = (
    table_of_the_first_wide_dtype,
    table_of_the_first_dtype,
    table_cached_without_offset,
    table_of_the_first_call,
    rotations_share_one_buffer,
    angles_kept_by_identity,
)
CORRECT = (correct, in_the_dtype, by_exponential)


def frequencies_in_bfloat16(x: Tensor, positions: Tensor) -> Tensor:
    """The inverse frequencies are a buffer that `.to(bfloat16)` has reached: angles of far positions are off."""
    angle = positions.float()[..., None] * frequencies(x.shape[-1]).bfloat16().float()
    cos, sin = torch.cat([angle, angle], -1).cos(), torch.cat([angle, angle], -1).sin()
    return turn(x.to(torch.promote_types(x.dtype, torch.float32)), cos, sin).to(x.dtype)


def odd_half_turned_short(x: Tensor, positions: Tensor) -> Tensor:
    """Head sizes 4 c + 2 are turned in pairs of pairs, and the last pair is left where it was: multiples of
    4 hide it.
    """
    y, d = correct(x, positions), x.shape[-1]
    if d % 4 == 2 and d > 2:
        y = y.clone()
        y[..., [d // 2 - 1, d - 1]] = x[..., [d // 2 - 1, d - 1]]
    return y


def last_of_an_odd_length_not_turned(x: Tensor, positions: Tensor) -> Tensor:
    """Tokens are turned two by two, and the last one of an odd length stays as it is."""
    y, n = correct(x, positions), x.shape[-2]
    return y if n % 2 == 0 or n == 1 else torch.cat([y[..., :-1, :], x[..., -1:, :]], -2)


def table_of_2048_rows(x: Tensor, positions: Tensor) -> Tensor:
    """The table ends at 2047, and so do later positions."""
    return correct(x, positions.clamp(max=2047))


class table_cast_down_for_good:  # noqa: N801
    """The first two-byte input casts the table of cosines in place; float32 reads what is left of it
    (sgl-project/sglang PR33117).
    """

    def __init__(self) -> None:
        self.dtype = torch.float32

    def __call__(self, x: Tensor, positions: Tensor) -> Tensor:
        self.dtype = x.dtype if x.element_size() == 2 else self.dtype
        wide = torch.promote_types(x.dtype, torch.float32)
        cos, sin = (table.to(self.dtype).to(wide) for table in tables(positions, x.shape[-1]))
        return turn(x.to(wide), cos, sin).to(x.dtype)


def backward_turns_forward_again(x: Tensor, positions: Tensor) -> Tensor:
    """The backward turns by the angle, not by its negative: gradients alone are wrong."""
    found: Tensor = _TurnedOn.apply(x, positions)
    return found


def single_token_rotation_of_the_first_sequence(x: Tensor, positions: Tensor) -> Tensor:
    """For one token the batch is folded into the rows, of which the table has one, then padding (tenstorrent/tt-mlir
    PR8342).

    One token, two sequences or more, one position for all: every sequence but the first comes out as zeros.
    """
    y = correct(x, positions)
    if x.dim() != 4 or x.shape[-2] != 1 or positions.numel() != 1:
        return y
    return torch.cat([y[:1], 0.0 * y[1:]])


def rows_of_a_view_counted_by_heads(x: Tensor, positions: Tensor) -> Tensor:
    """Rows are visited as they lie, and the row's number modulo n is its token: right where tokens lie inside heads.

    Inputs (B, H, n, d) that are a view of (B, n, H, d), with two heads or more and two tokens or more.
    """
    H, n = x.shape[-3:-1]
    if H < 2 or n < 2 or x.stride(-3) >= x.stride(-2):
        return correct(x, positions)
    token = (torch.arange(n) * H + torch.arange(H)[:, None]) % n
    own = positions.expand(*positions.shape[:-2], H, n)
    return correct(x, own.gather(-1, token.expand(own.shape)))


def negative_positions_from_the_end() -> Any:
    """A table that grows to the largest position is indexed with negative ones, from its end (Python's indexing).

    Positions below 0: p is turned as p + the table's length is.
    """
    rows: dict[int, int] = {}

    def rotate(x: Tensor, places: Tensor) -> Tensor:
        d, found = x.shape[-1], places.flatten().tolist() or [0]
        rows[d] = max(rows.get(d, 0), 32, max(found) + 1, -min(found))
        return correct(x, torch.where(places < 0, places + rows[d], places))

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
            kept[size, d] = tuple(t.to(x.dtype) for t in tables(torch.arange(size), d))
        cos, sin = (t[places].float() for t in kept[size, d])
        return turn(x.float(), cos, sin).to(x.dtype)

    return rotate


def pairs_behind_the_last_four(x: Tensor, places: Tensor) -> Tensor:
    """Pairs are turned four at a time; what is left over stays once there is a whole group (the tail of a vector loop).

    d = 10, 12, 14, 18, ...
    """
    d = x.shape[-1]
    half, frequency = d // 2, frequencies(d)
    if half > 4:
        frequency = torch.where(torch.arange(half) < half - half % 4, frequency, 0.0)
    angle = places.float()[..., None] * frequency
    angle = torch.cat([angle, angle], -1)
    return turn(x.to(torch.promote_types(x.dtype, torch.float32)), angle.cos(), angle.sin()).to(x.dtype)


def negative_rows_of_a_table(x: Tensor, places: Tensor) -> Tensor:
    """A table of cosines is indexed by position: a negative one reads it from its end."""
    rows = int(places.abs().max()) + 1 if places.numel() else 1
    return correct(x, torch.where(places < 0, places + rows, places))


def pairs_at_half_the_exponent(x: Tensor, places: Tensor) -> Tensor:
    """Interleaved: the exponent of pair c is c/d, not 2c/d; right at d = 2."""
    d = x.shape[-1]
    angle = places[..., None] * 10000.0 ** (-torch.arange(d // 2) / d)
    cos, sin, wide = angle.cos(), angle.sin(), x.to(torch.promote_types(x.dtype, torch.float32))
    a, b = wide[..., 0::2], wide[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2).to(x.dtype)


def rotated_in_place(x: Tensor, places: Tensor) -> Tensor:
    """The caller's tensor is overwritten where it asks for no gradient."""
    turned = correct(x, places)
    return turned if x.requires_grad else x.copy_(turned)


def gradient_turned_forward(x: Tensor, places: Tensor) -> Tensor:
    """The backward turns the gradient forward, not back."""
    turned: Tensor = _TurnedOn.apply(x, places)
    return turned


def positions_wrap_at_2048(x: Tensor, places: Tensor) -> Tensor:
    """Positions wrap at 2048, the table's size."""
    return correct(x, torch.where(places >= 2048, places % 2048, places))


ROWS = (
    *rows(
        "hard_contracts", frequencies_in_bfloat16, odd_half_turned_short, direct=True, contract="rotary",
        parameters={"positions": "batched"},
    ),
    *rows(
        "first_sight_others", last_of_an_odd_length_not_turned, table_of_2048_rows, direct=True, contract="rotary",
        parameters={"positions": "batched"},
    ),
    *rows("second_sight_others", table_cast_down_for_good, contract="rotary", parameters={"positions": "batched"}),
    *rows(
        "second_sight_others", backward_turns_forward_again, direct=True, contract="rotary",
        parameters={"positions": "batched"},
    ),
    *rows(
        "third_sight_others", single_token_rotation_of_the_first_sequence, rows_of_a_view_counted_by_heads,
        direct=True, contract="rotary", parameters={"positions": "batched"},
    ),
    *rows(
        "fourth_sight_others", negative_positions_from_the_end, contract="rotary",
        dtypes=("float32", "bfloat16", "float16"),
    ),
    *rows(
        "fourth_sight_others", tables_without_their_dtype, contract="rotary",
        dtypes=("float32", "bfloat16", "float16"), parameters={"min_position": 0},
    ),
    *rows(
        "fourth_sight_others", pairs_behind_the_last_four, direct=True, contract="rotary",
        parameters={"min_position": 0},
    ),
    *rows(
        "fifth_sight_others", negative_rows_of_a_table, rotated_in_place, gradient_turned_forward,
        positions_wrap_at_2048, direct=True, contract="rotary", dtypes=("float32", "bfloat16", "float16"),
    ),
    *rows(
        "fifth_sight_others", pairs_at_half_the_exponent, direct=True, contract="rotary",
        dtypes=("float32", "bfloat16", "float16"), parameters={"pairing": "interleaved"},
    ),
)  # fmt: skip
