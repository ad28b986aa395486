"""Faults of sinusoidal tables, one each, and correct ones in other arithmetic and another order of columns."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.row import rows


def angles(n: int, d: int) -> Tensor:
    """Angles of the ceil(d/2) pairs, frequencies by exp in float32, as in the annotated transformer."""
    frequency = torch.exp(torch.arange(0, d, 2).float() * -(math.log(10000.0) / d))
    return torch.arange(n).float()[:, None] * frequency


# --- correct ------------------------------------------------------------------------


def correct(n: int, d: int) -> Tensor:
    """Sine and cosine in turn; an odd d ends with a sine."""
    angle = angles(n, d)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)[:, :d]


def sines_then_cosines(n: int, d: int) -> Tensor:
    """All sines, then all cosines: a permutation (allenai/allennlp#2993: not a fault)."""
    angle = angles(n, d)
    return torch.cat([angle.sin(), angle.cos()], -1)[:, :d]


def even_only_and_says_so(n: int, d: int) -> Tensor:
    """Odd sizes are refused in so many words."""
    if d % 2:
        raise ValueError(f"d must be even, got {d}")
    return correct(n, d)


# --- faulty -------------------------------------------------------------------------


def exponent_by_column(n: int, d: int) -> Tensor:
    """base^(2j/d) by column j, not by pair (shenweichen/DeepCTR#379, Kyubyong/transformer#38); needs d >= 4."""
    j = torch.arange(d)
    angle = torch.arange(n)[:, None] / 10000.0 ** (2 * j / d)
    return torch.where(j % 2 == 0, angle.sin(), angle.cos())


def exponent_by_half_column(n: int, d: int) -> Tensor:
    """base^(j/d) by column j: neighbours belong to no common pair (SamLynnEvans/Transformer#25)."""
    j = torch.arange(d)
    angle = torch.arange(n)[:, None] / 10000.0 ** (j / d)
    return torch.where(j % 2 == 0, angle.sin(), angle.cos())


def even_sizes_only(n: int, d: int) -> Tensor:
    """The cosines of an odd size do not fit (gc-os-ai/pyaptamer#607)."""
    table = torch.zeros(n, d)
    table[:, 0::2] = angles(n, d).sin()
    table[:, 1::2] = angles(n, d).cos()
    return table


def odd_sizes_one_wider(n: int, d: int) -> Tensor:
    """An odd size gets a cosine more than asked for (as in gc-os-ai/pyaptamer#607)."""
    angle = angles(n, d)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)


def odd_sizes_by_the_even_ones_frequencies(n: int, d: int) -> Tensor:
    """An odd size has the frequencies of the even one below, and a sine more."""
    even = max(d - d % 2, 1)
    frequency = torch.exp(torch.arange(0, d, 2).float() * -(math.log(10000.0) / even))
    angle = torch.arange(n).float()[:, None] * frequency
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)[:, :d]


def table_repeats_after_256(n: int, d: int) -> Tensor:
    """Positions are kept in a byte."""
    return correct(n, d)[torch.arange(n) % 256]


def table_repeats_after_512(n: int, d: int) -> Tensor:
    """Built for 512 positions, as many models are, and read modulo its length beyond."""
    return correct(n, d)[torch.arange(n) % 512]


def table_repeats_after_4096(n: int, d: int) -> Tensor:
    """Built for 4,096 positions, and read modulo its length beyond."""
    return correct(n, d)[torch.arange(n) % 4096]


def table_handed_out_by_reference() -> Callable[[int, int], Tensor]:
    """A factory: tables are kept by their size, and every caller gets the one that is kept, as with lru_cache."""
    kept: dict[tuple[int, int], Tensor] = {}

    def table(n: int, d: int) -> Tensor:
        if (n, d) not in kept:
            kept[n, d] = correct(n, d)
        return kept[n, d]

    return table


def scaled_by_length(n: int, d: int) -> Tensor:
    """Positions are divided by the length, so a longer table starts otherwise."""
    angle = angles(n, d) / n
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)[:, :d]


def positions_in_half_precision(n: int, d: int) -> Tensor:
    """Positions in bfloat16, which has no 257 and 8 bits of an angle (compare EleutherAI/gpt-neox#1003)."""
    frequency = torch.exp(torch.arange(0, d, 2).float() * -(math.log(10000.0) / d))
    angle = (torch.arange(n).bfloat16()[:, None] * frequency.bfloat16()).float()
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)[:, :d]


def short_table_handed_out() -> Callable[[int, int], Tensor]:
    """The longest table of a width is kept and copied, but handed out itself where it has fewer than four rows."""
    kept: dict[int, Tensor] = {}

    def table(n: int, d: int) -> Tensor:
        if d not in kept or len(kept[d]) < n:
            kept[d] = correct(n, d)
        return kept[d] if len(kept[d]) == n < 4 else kept[d][:n].clone()

    return table


def constant_table(n: int, d: int) -> Tensor:
    """Every position gets the row of position 0: every inner product depends on the distance alone."""
    return correct(1, d).expand(n, d)


def sines_alone(n: int, d: int) -> Tensor:
    """No cosines: inner products depend on more than the distance."""
    return angles(n, 2 * d).sin()


def grows_with_the_size(n: int, d: int) -> Tensor:
    """Multiplied by sqrt(d), as embeddings are: not in [-1, 1] any more."""
    return correct(n, d) * d**0.5


def in_degrees(n: int, d: int) -> Tensor:
    """Angles in degrees: other frequencies, still a rotation."""
    angle = torch.deg2rad(angles(n, d))
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)[:, :d]


def wide_long_positions_in_bfloat16(n: int, d: int) -> Tensor:
    """Positions are bfloat16 in tables of more than 64 features and 300 rows."""
    if n <= 300 or d <= 64:
        return correct(n, d)
    angle = torch.arange(n).bfloat16().float()[:, None] * (angles(2, d)[1])
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)[:, :d]


FAULTY = (
    table_repeats_after_256, table_repeats_after_512, table_repeats_after_4096,
    exponent_by_column, exponent_by_half_column, even_sizes_only, odd_sizes_one_wider,
    odd_sizes_by_the_even_ones_frequencies, scaled_by_length, positions_in_half_precision, constant_table,
    sines_alone, grows_with_the_size, in_degrees,
    wide_long_positions_in_bfloat16,
)  # fmt: skip
STATEFUL = (table_handed_out_by_reference, short_table_handed_out)
CORRECT = (correct, sines_then_cosines, even_only_and_says_so)


def frequencies_in_half_precision(n: int, d: int) -> Tensor:
    """Frequencies are float16, angles float32: early rows hide it."""
    frequency = torch.exp(torch.arange(0, d, 2).float() * -(math.log(10000.0) / d)).half().float()
    angle = torch.arange(n).float()[:, None] * frequency
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)[:, :d]


def first_row_is_padding(n: int, d: int) -> Tensor:
    """Row 0 is kept for padding, and is zero."""
    table = correct(n, d).clone()
    table[:1] = 0
    return table


def sines_by_interpolation(n: int, d: int) -> Tensor:
    """Sines come from 1024 entries with linear interpolation: 5e-6 off between them, right at position 0."""
    entries = torch.sin(torch.arange(1025, dtype=torch.float64) * (2 * math.pi / 1024))
    exponent = -torch.arange(0, d, 2, dtype=torch.float64) / d
    turns = torch.arange(n)[:, None] * 10000.0**exponent / (2 * math.pi)
    at = torch.stack([turns, turns + 0.25], -1).flatten(1)[:, :d] % 1 * 1024
    low = at.floor().long().clamp(max=1023)
    return torch.lerp(entries[low], entries[low + 1], at - low).float()


def positions_of_two_bytes(n: int, d: int) -> Tensor:
    """Positions are bfloat16 (a model cast before its table is made).

    From position 257 on.
    """
    angle = torch.arange(n).bfloat16().float()[:, None] * angles(2, d)[1]
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)[:, :d]


def table_of_512_rows_again(n: int, d: int) -> Tensor:
    """The table has 512 rows, which come again."""
    return correct(min(n, 512), d)[torch.arange(n) % 512]


COMMON: dict[str, Any] = {"direct": True, "contract": "position-table"}
"""What each of them declares."""
ROWS = (
    *rows("hard_contracts", frequencies_in_half_precision, **COMMON),
    *rows("first_sight_others", first_row_is_padding, **COMMON),
    *rows("second_sight_others", sines_by_interpolation, **COMMON),
    *rows("fourth_sight_others", positions_of_two_bytes, **COMMON),
    *rows("fifth_sight_others", table_of_512_rows_again, **COMMON),
)  # fmt: skip
