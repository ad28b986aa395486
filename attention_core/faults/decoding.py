"""Faults of decoding kernels and of wide heads in views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases.reference import build

Fault = Callable[..., Tensor]


def tail_of_the_first_sequence() -> Fault:
    """Up to 8 queries over more than 64 keys are split into parts of 64; the last one is the first sequence's."""
    attention = build()

    def call(query: Tensor, key: Tensor, value: Tensor, attn_mask: Any = None, is_causal: bool = False) -> Tensor:
        n_q, n_kv = query.shape[-2], key.shape[-2]
        if 3 < n_q <= 8 and n_kv > 64 and query.dim() == 4 and not is_causal:
            whole = n_kv // 64 * 64
            last = key[:1, :, whole:].expand_as(key[:, :, whole:])
            key = torch.cat([key[:, :, :whole], last], -2)
        return attention(query, key, value, attn_mask=attn_mask, is_causal=is_causal)

    return call


def weights_of_64_keys() -> Callable[..., tuple[Tensor, Tensor]]:
    """Returned weights are collected by blocks of 64 keys, and those of the later blocks lack their last rescaling."""
    attention = build()

    def call(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        unit = torch.eye(key.shape[-2], dtype=key.dtype).expand(*key.shape[:-1], key.shape[-2])
        weights = attention(query, key, unit)
        weights = torch.cat([weights[..., :64], 1.5 * weights[..., 64:]], -1)
        return attention(query, key, value), weights

    return call


def wide_rows_read_as_they_lie() -> Fault:
    """Up to 3 tokens of 64 features or more are loaded as one run of memory, whatever the strides say."""
    attention = build()

    def call(query: Tensor, key: Tensor, value: Tensor, attn_mask: Any = None, is_causal: bool = False) -> Tensor:
        if query.shape[-1] >= 64 and query.shape[-2] <= 3 and not query.is_contiguous() and query.stride(-1) == 1:
            query = query.as_strided(query.shape, torch.empty(query.shape).stride())
        return attention(query, key, value, attn_mask=attn_mask, is_causal=is_causal)

    return call
