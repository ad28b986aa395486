"""Functions that make a result out of contradictory inputs, where the contract asks for a refusal.

Each is correct on consistent inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases import reference

Fault = Callable[..., Tensor]


def unchecked(*_: Any) -> None:
    """No check at the door."""


def head_size_cut_to_shorter() -> Fault:
    """Query and key are cut to the shorter head size (like sgl-project/sglang PR32028: E // H unchecked)."""

    def faulty(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
        d = min(query.shape[-1], key.shape[-1])
        return reference.scores(query[..., :d], key[..., :d], scale)

    return reference.build(check=unchecked, scores=faulty)


def lengths_cut_to_shorter() -> Fault:
    """Weights and values are summed as far as both go."""

    def faulty(p: Tensor, value: Tensor) -> Tensor:
        n = min(p.shape[-1], value.shape[-2])
        return reference.combine(p[..., :n], value[..., :n, :])

    return reference.build(check=unchecked, combine=faulty)


def long_mask_cut() -> Fault:
    """A mask of any length is taken; what is too long is not read (pytorch/pytorch PR141625)."""

    def faulty(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if attn_mask is not None:
            attn_mask = attn_mask[..., : s.shape[-2], : s.shape[-1]]
        return reference.bias(s, attn_mask, causal)

    return reference.build(check=unchecked, bias=faulty)


def large_mask_broadcasts_the_scores() -> Fault:
    """A mask with more rows, heads or batches than the scores enlarges the result."""
    return reference.build(check=unchecked)


def heads_filled_up() -> Fault:
    """Key heads are repeated often enough and the rest is cut: no multiple is asked for."""

    def faulty(key: Tensor, value: Tensor, heads: int) -> tuple[Tensor, Tensor]:
        group = -(-heads // key.shape[-3])
        repeat = lambda x: x.repeat_interleave(group, -3)[..., :heads, :, :]  # noqa: E731
        return repeat(key), repeat(value)

    return reference.build(check=unchecked, expand=faulty)


def contradictions_by_index_error() -> Fault:
    """Contradictory head sizes end in an IndexError from inside."""

    def faulty(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, enable_gqa: bool) -> None:
        if query.shape[-1] != key.shape[-1]:
            list(range(query.shape[-1]))[max(query.shape[-1], key.shape[-1]) + 1]
        reference.check(query, key, value, attn_mask, enable_gqa)

    return reference.build(check=faulty)


def broadcast_batch_lost() -> Fault:
    """Keys of one batch row serve the first batch row alone; the others get zeros."""

    def faulty(p: Tensor, value: Tensor) -> Tensor:
        out = reference.combine(p, value)
        if value.ndim == 4 and value.shape[0] == 1 < out.shape[0]:
            out = out * (torch.arange(out.shape[0]) == 0)[:, None, None, None]
        return out

    return reference.build(combine=faulty)
