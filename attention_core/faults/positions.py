"""Faults of how lengths and positions are counted: in too few bits, from the wrong place, again from the start."""

from __future__ import annotations

import torch
from torch import Tensor

from attention_core.faults import position_table, rotary
from attention_core.faults.row import rows


def lengths_in_bytes(n_q: int, n_kv: int, lengths: Tensor) -> Tensor:
    """Lengths are signed bytes: 128 keys and more are none."""
    return (torch.arange(n_kv) < lengths.to(torch.int8)[:, None])[:, None, None].repeat(1, 1, n_q, 1)


def returning_documents_are_new(n_q: int, n_kv: int, ids: Tensor) -> Tensor:
    """Documents are counted by the changes of their id: one whose id comes back later is taken for another one."""
    changed = torch.nn.functional.pad(ids[:, 1:] != ids[:, :-1], (1, 0)).cumsum(-1)
    return (changed[:, :n_q, None] == changed[:, None, :n_kv])[:, None]


def consecutive_positions_assumed(x: Tensor, positions: Tensor) -> Tensor:
    """A fast path for positions that start at 0 takes them for 0, 1, 2, ..."""
    row = positions.reshape(-1, positions.shape[-1])
    if row.shape[-1] and bool((row[:, 0] == 0).all()):
        positions = torch.arange(positions.shape[-1]).expand_as(positions)
    return rotary.correct(x, positions)


def positions_in_sixteen_bits(x: Tensor, positions: Tensor) -> Tensor:
    """Positions are short integers: from 32768 on they are negative."""
    return rotary.correct(x, positions.to(torch.int16).to(torch.int64))


def table_repeats_after_256(n: int, d: int) -> Tensor:
    """The table has 256 rows, and later positions begin anew."""
    return position_table.correct(min(n, 256), d)[torch.arange(n) % 256]


def negative_positions_are_zero(x: Tensor, positions: Tensor) -> Tensor:
    """Positions before 0, as left padding gives them, are taken for 0."""
    return rotary.correct(x, positions.clamp(min=0))


ROWS = (
    *rows("hard_contracts", lengths_in_bytes, direct=True, contract="mask-builder", parameters={"kind": "padding"}),
    *rows(
        "hard_contracts", returning_documents_are_new, direct=True, contract="mask-builder",
        parameters={"kind": "segments"},
    ),
    *rows(
        "hard_contracts", consecutive_positions_assumed, positions_in_sixteen_bits, direct=True, contract="rotary",
        parameters={"positions": "batched"},
    ),
    *rows("hard_contracts", table_repeats_after_256, direct=True, contract="position-table"),
    *rows(
        "first_sight_others", negative_positions_are_zero, direct=True, contract="rotary",
        parameters={"positions": "batched"},
    ),
)  # fmt: skip
