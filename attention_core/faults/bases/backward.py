"""Attention with a hand-written backward pass, cut into steps that faults replace.

`build_backward()` is correct. Its backward is made of differentiable operations, so that second derivatives
come out as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases import reference

Masked = Tensor | None


def probabilities(query: Tensor, key: Tensor, attn_mask: Masked, causal: Masked, scale: float) -> Tensor:
    """Weights, computed again from what was saved; key already repeated to the query's heads."""
    return reference.weights(reference.bias(reference.scores(query, key, scale), attn_mask, causal))


def d_value(p: Tensor, cotangent: Tensor) -> Tensor:
    """dV = P^T dO, one per query head."""
    return p.transpose(-1, -2) @ cotangent


def d_weights(cotangent: Tensor, value: Tensor) -> Tensor:
    """dP = dO V^T."""
    return cotangent @ value.transpose(-1, -2)


def d_scores(p: Tensor, dp: Tensor) -> Tensor:
    """dS = P (dP - rowsum(P dP)); masked pairs stay at zero."""
    return p * (dp - (p * dp).sum(-1, keepdim=True))


def d_query(ds: Tensor, key: Tensor, scale: float) -> Tensor:
    """dQ = scale dS K."""
    return scale * ds @ key


def d_key(ds: Tensor, query: Tensor, scale: float) -> Tensor:
    """dK = scale dS^T Q, one per query head."""
    return scale * ds.transpose(-1, -2) @ query


def over_group(x: Tensor, heads: int) -> Tensor:
    """Sum the gradients of the query heads that share a key head."""
    return x.reshape(*x.shape[:-3], heads, x.shape[-3] // heads, *x.shape[-2:]).sum(-3)


def d_mask(ds: Tensor, mask: Tensor) -> Tensor:
    """db = dS summed over the axes along which the mask was broadcast."""
    return ds.sum_to_size(mask.shape)


def hand_over(asked: tuple[bool, ...], found: list[Tensor | None]) -> list[Tensor | None]:
    """Gradients in the order of the arguments, None where nobody asks."""
    return [g if wanted else None for wanted, g in zip(asked, found, strict=True)]


STEPS: dict[str, Callable[..., Any]] = {
    "probabilities": probabilities, "d_value": d_value, "d_weights": d_weights, "d_scores": d_scores,
    "d_query": d_query, "d_key": d_key, "over_group": over_group, "d_mask": d_mask, "hand_over": hand_over,
}  # fmt: skip


class _Attention(torch.autograd.Function):
    """Attention with its own backward; `step` holds the steps by name."""

    @staticmethod
    def forward(
        ctx: Any, step: dict[str, Any], query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None,
        options: tuple[bool, float | None, bool],
    ) -> Tensor:  # fmt: skip
        causal, scale, gqa = options
        ctx.step, ctx.causal = step, causal
        ctx.scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
        ctx.save_for_backward(query, key, value, attn_mask)
        return reference.correct(query, key, value, attn_mask, 0.0, causal, scale, gqa)

    @staticmethod
    def backward(ctx: Any, cotangent: Tensor) -> Any:
        step, (query, key, value, mask) = ctx.step, ctx.saved_tensors
        dtype, wide, heads = query.dtype, torch.promote_types(query.dtype, torch.float32), key.shape[-3]
        q, c = query.to(wide), cotangent.to(wide)
        k, v = reference.expand(key.to(wide), value.to(wide), query.shape[-3])
        causal = reference.causal_allowed(q.shape[-2], k.shape[-2]) if ctx.causal else None
        p = step["probabilities"](q, k, mask, causal, ctx.scale)
        ds = step["d_scores"](p, step["d_weights"](c, v))
        per_head = (step["d_key"](ds, q, ctx.scale), step["d_value"](p, c))
        found = [step["d_query"](ds, k, ctx.scale), *(step["over_group"](x, heads) for x in per_head)]
        bias = mask is not None and mask.is_floating_point()
        found = [g.to(dtype) for g in found] + [step["d_mask"](ds, mask).to(dtype) if bias else None]
        return (None, *step["hand_over"](ctx.needs_input_grad[1:5], found), None)


def build_backward(**changed: Callable[..., Any]) -> Callable[..., Tensor]:
    """Attention with a hand-written backward, some steps of it replaced."""
    assert changed.keys() <= STEPS.keys(), f"no such step: {changed.keys() - STEPS.keys()}"
    step = STEPS | changed

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
        is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        if dropout_p:
            raise NotImplementedError("no dropout")
        found: Tensor = _Attention.apply(step, query, key, value, attn_mask, (is_causal, scale, enable_gqa))
        return found

    return attention
