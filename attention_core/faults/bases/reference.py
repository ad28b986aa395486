"""A plain correct attention in torch, cut into steps; a fault replaces one step and leaves the rest right.

`build()` gives the correct function, `build(scores=...)` one with that step changed. This is test material: nothing of
the package imports it, and it shares no code with what it helps to test.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def expand(key: Tensor, value: Tensor, heads: int) -> tuple[Tensor, Tensor]:
    """Repeat key heads so that query head h meets key head h // group."""
    group = heads // key.shape[-3]
    return key.repeat_interleave(group, -3), value.repeat_interleave(group, -3)


def scores(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
    """Scaled dot products."""
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    return scale * query @ key.transpose(-1, -2)


def causal_allowed(n_q: int, n_kv: int) -> Tensor:
    """Top-left causal: query i sees keys j <= i."""
    return torch.ones(n_q, n_kv, dtype=torch.bool).tril()


def bias(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
    """Masked scores are -inf, float masks are added."""
    if attn_mask is not None:
        s = s.masked_fill(~attn_mask, -math.inf) if attn_mask.dtype == torch.bool else s + attn_mask
    return s if causal is None else s.masked_fill(~causal, -math.inf)


def weights(s: Tensor) -> Tensor:
    """Softmax over keys; a row without keys gets zeros, and zero gradients."""
    dead = (s == -math.inf).all(-1, keepdim=True)
    return torch.softmax(s.masked_fill(dead, 0.0), -1).masked_fill(dead, 0.0)


def drop(p: Tensor, dropout_p: float) -> Tensor:
    """Dropout on the weights."""
    return torch.nn.functional.dropout(p, dropout_p) if dropout_p > 0 else p


def combine(p: Tensor, value: Tensor) -> Tensor:
    """The weighted sum of values."""
    return p @ value


def check(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, enable_gqa: bool) -> None:
    """The contradictions that must raise."""
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise ValueError("head sizes of query and key, or lengths of key and value, differ")
    if query.shape[-3] % max(key.shape[-3], 1) or (query.shape[-3] != key.shape[-3] and not enable_gqa):
        raise ValueError("query heads are not a multiple of key heads")
    if attn_mask is not None:
        shape = (*query.shape[:-1], key.shape[-2])
        if torch.broadcast_shapes(attn_mask.shape, shape) != shape:
            raise ValueError("the mask does not broadcast to the scores")


STEPS: dict[str, Callable[..., Any]] = {
    "check": check, "expand": expand, "scores": scores, "causal_allowed": causal_allowed, "bias": bias,
    "weights": weights, "drop": drop, "combine": combine,
}  # fmt: skip


def build(*, wide: bool = True, **changed: Callable[..., Any]) -> Callable[..., Tensor]:
    """An attention function with some steps replaced; `wide` computes low precision inside in float32."""
    assert changed.keys() <= STEPS.keys(), f"no such step: {changed.keys() - STEPS.keys()}"
    step = STEPS | changed

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
        is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        step["check"](query, key, value, attn_mask, enable_gqa)
        dtype = query.dtype
        inner = torch.promote_types(dtype, torch.float32) if wide else dtype
        query, key, value = query.to(inner), key.to(inner), value.to(inner)
        key, value = step["expand"](key, value, query.shape[-3])
        causal = step["causal_allowed"](query.shape[-2], key.shape[-2]) if is_causal else None
        s = step["bias"](step["scores"](query, key, scale), attn_mask, causal)
        p = step["drop"](step["weights"](s), dropout_p)
        return step["combine"](p, value).to(dtype)

    return attention


correct = build()
