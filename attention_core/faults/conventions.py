"""Faults under declared conventions: without the declaration they would be hidden by another difference.

Each factory gives one function; `DECLARED` says under which convention it is wrong, and `SEEN_BY` which law sees it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases import reference

Fault = Callable[..., Tensor]


def keys_of_the_first_sequence() -> Fault:
    """Of three axes, (B, n, d): from five sequences on, the keys are those of the first."""

    def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        key = key[:1].expand_as(key) if key.shape[0] >= 5 else key
        return torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1) @ value

    return attention


def square_matrices_over_queries() -> Fault:
    """Of two axes, (n, d): the softmax goes over queries where there are as many as keys."""

    def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        return torch.softmax(scores, 0 if scores.shape[0] == scores.shape[1] > 1 else 1) @ value

    return attention


def mask_of_the_first_head() -> Fault:
    """Bool masks alone: with more than three heads the first head's mask serves all."""

    def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        if mask is not None and mask.ndim == 4 and mask.shape[1] > 3:
            mask = mask[:, :1]
        return reference.correct(query, key, value, mask)

    return attention


def bias_clamped() -> Fault:
    """Additive masks alone: finite biases are clamped at -10,000."""

    def attention(query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None = None) -> Tensor:
        if bias is not None:
            bias = torch.where(bias.isfinite(), bias.clamp(min=-1e4), bias)
        return reference.correct(query, key, value, bias)

    return attention


def binary_mask_times_scores() -> Fault:
    """Whole numbers 0 and 1: scores are multiplied by the mask, so that a forbidden key has score 0."""

    def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        return torch.softmax(scores if mask is None else scores * mask, -1) @ value

    return attention


def diagonal_one_late_beyond_64() -> Fault:
    """Always causal: beyond 64 rows each sees one key too many."""

    def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        n_q, n_kv = query.shape[-2], key.shape[-2]
        allowed = torch.ones(n_q, n_kv, dtype=torch.bool).tril(1 if n_q > 64 else 0)
        return reference.correct(query, key, value, allowed)

    return attention


def root_of_wide_heads() -> Fault:
    """Unscaled: heads wider than 64 are scaled by 1 / sqrt(d) after all."""

    def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        d = query.shape[-1]
        return reference.correct(query, key, value, scale=d**-0.5 if d > 64 else 1.0)

    return attention


def modular_keys_interleaved_values() -> Fault:
    """Heads by h mod H_kv: the keys are, the values are shared by h // (H / H_kv)."""

    def attention(query: Tensor, key: Tensor, value: Tensor, enable_gqa: bool = False) -> Tensor:
        group = query.shape[-3] // max(key.shape[-3], 1)
        axes = (1,) * (key.ndim - 3)
        key, value = key.repeat(*axes, group, 1, 1), value.repeat_interleave(group, -3)
        return reference.correct(query, key, value)

    return attention


def total_of_the_first_two_parts() -> Fault:
    """Parts added times exp(lse - total): the total is that of the first two parts, where there are three."""

    def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        parts = list(zip(scores.split(32, -1), value.split(32, -2), strict=True))
        lse = torch.stack([s.logsumexp(-1, keepdim=True) for s, _ in parts]) if parts else scores.new_zeros(0)
        if not parts or not scores.shape[-1]:
            return scores @ value
        total = lse[:2].logsumexp(0)
        return sum((torch.softmax(s, -1) @ v * (own - total).exp() for (s, v), own in zip(parts, lse, strict=True)),
                   start=torch.zeros(()))  # fmt: skip

    return attention


DECLARED: Mapping[str, dict[str, Any]] = {
    "keys_of_the_first_sequence": {"axes": 3},
    "square_matrices_over_queries": {"axes": 2},
    "mask_of_the_first_head": {"masks": "bool"},
    "bias_clamped": {"masks": "additive"},
    "binary_mask_times_scores": {"masks": "binary"},
    "diagonal_one_late_beyond_64": {"always_causal": True},
    "root_of_wide_heads": {"scale": "1"},
    "modular_keys_interleaved_values": {"grouping": "modular"},
    "total_of_the_first_two_parts": {"merges": "lse"},
}
SEEN_BY = {
    "keys_of_the_first_sequence": "round_sizes_and_sizes_beyond_are_right",
    "square_matrices_over_queries": "agrees_with_truth",
    "mask_of_the_first_head": "agrees_with_truth",
    "bias_clamped": "a_very_low_bias_is_not_dead",
    "binary_mask_times_scores": "agrees_with_truth",
    "diagonal_one_late_beyond_64": "every_length_around_blocks_is_right",
    "root_of_wide_heads": "round_sizes_and_sizes_beyond_are_right",
    "modular_keys_interleaved_values": "agrees_with_truth",
    "total_of_the_first_two_parts": "every_length_around_blocks_is_right",
}
