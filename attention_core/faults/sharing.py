"""Faults of sharing: results and gradients that lie in one buffer where they should not.

Each function builds one faulty attention with a state of its own; its docstring tells the fault.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases.reference import build

Fault = Callable[..., Tensor]


def one_buffer_for_all_results() -> Fault:
    """Without gradients every output lies in one workspace, from its start: any other call overwrites it."""
    kept: dict[torch.dtype, Tensor] = {}

    def combine(p: Tensor, value: Tensor) -> Tensor:
        out = p @ value
        if out.requires_grad or not out.numel():
            return out
        if out.dtype not in kept or kept[out.dtype].numel() < out.numel():
            kept[out.dtype] = torch.zeros(2 * out.numel(), dtype=out.dtype)
        return kept[out.dtype][: out.numel()].view(out.shape).copy_(out)

    return build(combine=combine)


def ring_of_outputs() -> Fault:
    """Without gradients outputs of a shape go round four buffers: the fifth call overwrites the first one's result."""
    kept: dict[tuple[Any, ...], Tensor] = {}
    calls = [0]

    def combine(p: Tensor, value: Tensor) -> Tensor:
        out = p @ value
        if out.requires_grad:
            return out
        calls[0] += 1
        return kept.setdefault((out.shape, out.dtype, calls[0] % 4), torch.empty_like(out)).copy_(out)

    return build(combine=combine)


def value_itself_for_one_key() -> Fault:
    """The weight of a lone key is 1, so its value is handed back itself, not a copy: writes into the output
    reach it.
    """
    right = build()

    def attention(query: Tensor, key: Tensor, value: Tensor, *rest: Any, **options: Any) -> Tensor:
        lone = query.shape[-2] == key.shape[-2] == 1 and query.shape[:-2] == value.shape[:-2]
        return value if lone else right(query, key, value, *rest, **options)

    return attention


class _Doubled(torch.autograd.Function):
    """Key and value as they are; a shared storage gets each gradient in the place of their mean."""

    @staticmethod
    def forward(ctx: Any, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        ctx.shared = key.data_ptr() == value.data_ptr() and key.shape == value.shape
        return key.clone(), value.clone()

    @staticmethod
    def backward(ctx: Any, d_key: Tensor, d_value: Tensor) -> Any:
        return (d_value, d_value) if ctx.shared else (d_key, d_value)


def gradients_shared_by_storage() -> Fault:
    """Gradients are kept by the storage of their input: where key and value are one, dV overwrites dK."""
    right = build()

    def attention(query: Tensor, key: Tensor, value: Tensor, *rest: Any, **options: Any) -> Tensor:
        return right(query, *_Doubled.apply(key, value), *rest, **options)

    return attention


def keys_kept_by_identity() -> Fault:
    """Without gradients transposed keys are kept as long as the same tensor comes, whatever its numbers are by then."""
    kept: list[Tensor] = []
    right = build()

    def attention(query: Tensor, key: Tensor, value: Tensor, *rest: Any, **options: Any) -> Tensor:
        if key.requires_grad:
            return right(query, key, value, *rest, **options)
        if not kept or kept[0] is not key:
            kept[:] = [key, key.clone()]
        return right(query, kept[1], value, *rest, **options)

    return attention
