"""Faults of floating point: right formulas that overflow, stagnate, clip or hide what is not finite.

Where a docstring names a thread, that is where people really made the mistake; otherwise it is of our making.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases import reference
from attention_core.faults.bases.reference import build

Attention = Callable[..., Any]


def no_max_subtraction() -> Attention:
    """exp(s) / sum exp(s) (intel/xFasterTransformer PR326)."""

    def weights(s: Tensor) -> Tensor:
        e = torch.exp(s)
        total = e.sum(-1, keepdim=True)
        return e / torch.where(total == 0, 1.0, total)

    return build(weights=weights)


def logits_clipped() -> Attention:
    """Scores are clipped to 80 before the exponential, in place of taking out their maximum."""

    def weights(s: Tensor) -> Tensor:
        e = torch.exp(s.clamp(max=80.0))
        total = e.sum(-1, keepdim=True)
        return e / torch.where(total == 0, 1.0, total)

    return build(weights=weights)


def maximum_of_the_whole_tensor() -> Attention:
    """One maximum for all rows: rows far below it lose every weight."""

    def weights(s: Tensor) -> Tensor:
        e = torch.exp(s - s.amax().nan_to_num(neginf=0.0))
        total = e.sum(-1, keepdim=True)
        return e / torch.where(total == 0, 1.0, total)

    return build(weights=weights)


def epsilon_in_the_normaliser() -> Attention:
    """exp(s) / (sum exp(s) + 1e-6) around the maximum of all rows."""

    def weights(s: Tensor) -> Tensor:
        e = torch.exp(s - s.amax().nan_to_num(neginf=0.0))
        return e / (e.sum(-1, keepdim=True) + 1e-6)

    return build(weights=weights)


def _running(terms: Tensor, dim: int) -> Tensor:
    """A sum with a running total in the terms' own dtype."""
    total = torch.zeros_like(terms.select(dim, 0))
    for term in terms.unbind(dim):
        total = total + term
    return total


def sums_in_low_precision() -> Attention:
    """The normaliser is summed in the input's dtype, key by key (after transformers PR17437)."""

    def weights(s: Tensor) -> Tensor:
        e = torch.exp(s - s.amax(-1, keepdim=True).nan_to_num(neginf=0.0))
        total = _running(e, -1)[..., None]
        return e / torch.where(total == 0, 1.0, total)

    return build(wide=False, weights=weights)


def output_summed_in_low_precision() -> Attention:
    """The weighted sum of values runs in the input's dtype."""
    return build(wide=False, combine=lambda p, v: _running(p[..., None] * v[..., None, :, :], -2))


def scores_rounded_to_input() -> Attention:
    """Scores are stored in the input's dtype, with float32 inside declared (after transformers PR17437)."""

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
        is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        store = lambda q, k, s: reference.scores(q, k, s).to(query.dtype).to(q.dtype)  # noqa: E731
        return build(scores=store)(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)

    return attention


def product_overflows_in_float16() -> Attention:
    """q k^T is stored in float16 before it is scaled, with float32 inside declared: infinite beyond 65504."""

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
        is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        def scores(q: Tensor, k: Tensor, given: float | None) -> Tensor:
            found = reference.scores(q, k, given)
            stored = (q @ k.mT).to(query.dtype)
            return torch.where(stored.isfinite(), found, stored.to(found.dtype))

        return build(scores=scores)(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)

    return attention


def float32_inside_float64() -> Attention:
    """float64 inputs are computed in float32 (after jax-ml/jax PR34114)."""
    return build(scores=lambda q, k, s: reference.scores(q.float(), k.float(), s).to(q.dtype))


def bias_as_factor() -> Attention:
    """exp(s - max s) exp(b): the bias overflows by itself (fla-org/flash-linear-attention#77: a decay)."""

    def bias(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if attn_mask is None or attn_mask.dtype == torch.bool:
            return reference.bias(s, attn_mask, causal)
        factor = torch.exp(attn_mask.to(s.dtype).clamp(max=60.0))
        return reference.bias(s, torch.log(factor), causal)

    return build(bias=bias)


def rows_normalised() -> Attention:
    """Queries are divided by their largest entry and the scale takes it back: zero rows give 0/0."""

    def scores(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
        size = query.abs().amax(-1, keepdim=True)
        return reference.scores(query / size, key, scale) * size

    return build(scores=scores)


def values_divided_by_norm() -> Attention:
    """Values are divided by their largest entry before the sum: all zeros give 0/0."""

    def combine(p: Tensor, v: Tensor) -> Tensor:
        size = v.abs().amax((-2, -1), keepdim=True)
        return p @ (v / size) * size

    return build(combine=combine)


def small_values_flushed() -> Attention:
    """What is smaller than 1e-6 is taken for zero."""
    return build(combine=lambda p, v: p @ torch.where(v.abs() < 1e-6, 0.0, v))


def nan_to_num() -> Attention:
    """NaN in the weights is replaced by zero, wherever it comes from."""
    return build(combine=lambda p, v: torch.nan_to_num(torch.nan_to_num(p) @ v))


def nan_scores_masked() -> Attention:
    """Scores that are NaN are treated as masked."""
    return build(scores=lambda q, k, s: torch.nan_to_num(reference.scores(q, k, s), nan=-math.inf))


def values_cleaned() -> Attention:
    """NaN and infinities in the values become numbers."""
    return build(combine=lambda p, v: p @ torch.nan_to_num(v))


FAULTS: dict[str, Callable[[], Attention]] = {
    name: make for name, make in list(globals().items())
    if inspect.isfunction(make) and make.__module__ == __name__ and not name.startswith("_")
}  # fmt: skip
"""Every fault of this file by name."""
