"""Faults of the value: a wrong scale, softmax or weighted sum, each one step of a correct attention.

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


def _default(query: Tensor) -> float:
    return 1 / math.sqrt(query.shape[-1])


def wrong_scale() -> Attention:
    """The default scale is 1/d in place of 1/sqrt(d)."""
    return build(scores=lambda q, k, scale: reference.scores(q, k, 1 / q.shape[-1] if scale is None else scale))


def scale_by_model_width() -> Attention:
    """Scaled by the model's width in place of the head's (lucidrains/vit-pytorch#65)."""
    width = lambda q: 1 / math.sqrt(q.shape[-1] * q.shape[-3])  # noqa: E731
    return build(scores=lambda q, k, scale: reference.scores(q, k, width(q) if scale is None else scale))


def scale_missing() -> Attention:
    """No default scale at all (mlc-ai/mlc-llm PR3426)."""
    return build(scores=lambda q, k, scale: reference.scores(q, k, 1.0 if scale is None else scale))


def scale_ignored() -> Attention:
    """The scale argument is accepted and not used (tenstorrent/tt-metal#33304)."""
    return build(scores=lambda q, k, scale: reference.scores(q, k, None))


def scale_one_per_cent_off() -> Attention:
    """The scale is one per cent too large."""
    return build(scores=lambda q, k, s: reference.scores(q, k, 1.01 * (_default(q) if s is None else s)))


def scale_zero_is_default() -> Attention:
    """`scale or default`: a scale of zero is taken for a missing one."""
    return build(scores=lambda q, k, scale: reference.scores(q, k, scale or None))


def softcap_always() -> Attention:
    """Scores pass through 20 tanh(s/20), a cap nobody asked for (the reverse of sgl-project/sglang#33915)."""
    return build(scores=lambda q, k, scale: 20 * torch.tanh(reference.scores(q, k, scale) / 20))


def scores_clamped() -> Attention:
    """Scores are clamped to [-5, 5] in place of taking out their maximum."""
    return build(scores=lambda q, k, scale: reference.scores(q, k, scale).clamp(-5, 5))


def finite_scores_clamped() -> Attention:
    """Finite scores are clamped to what float16 holds, infinities pass."""
    return build(scores=lambda q, k, scale: _within_half(reference.scores(q, k, scale)))


def _within_half(s: Tensor) -> Tensor:
    return torch.where(s.isfinite(), s.clamp(-65504, 65504), s)


def cosine_scores() -> Attention:
    """Queries and keys are normalised first."""
    unit = torch.nn.functional.normalize
    return build(scores=lambda q, k, scale: reference.scores(unit(q, dim=-1), unit(k, dim=-1), scale))


def last_feature_dropped() -> Attention:
    """The last feature of an odd head size is lost (sgl-project/sglang PR32028: head size truncated)."""
    even = lambda x: x[..., : max(x.shape[-1] // 2 * 2, 1)]  # noqa: E731
    return build(scores=lambda q, k, s: reference.scores(even(q), even(k), _default(q) if s is None else s))


def length_in_the_scale() -> Attention:
    """Scores are multiplied by log n / log 2 of the keys."""
    return build(scores=lambda q, k, scale: reference.scores(q, k, scale) * max(math.log2(k.shape[-2]), 1.0))


def causal_before_scale() -> Attention:
    """Masked before scaling: -inf times zero or a negative scale is NaN or +inf."""

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
        is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        if attn_mask is not None or not is_causal:
            return reference.correct(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
        k, v = reference.expand(key, value, query.shape[-3])
        s = (query @ k.mT).masked_fill(~reference.causal_allowed(query.shape[-2], k.shape[-2]), -math.inf)
        return torch.softmax(s * (_default(query) if scale is None else scale), -1) @ v

    return attention


def mask_after_softmax() -> Attention:
    """Masked weights are zeroed after softmax, not renormalised (huggingface/pytorch-image-models PR2236)."""

    def weights(s: Tensor) -> Tensor:
        seen = s > -math.inf
        return torch.softmax(torch.nan_to_num(s, neginf=-1.0), -1) * seen

    return build(weights=weights)


def softmax_over_queries() -> Attention:
    """Softmax over the queries (labmlai/annotated_deep_learning_paper_implementations#146)."""
    return build(weights=lambda s: torch.nan_to_num(torch.softmax(s, -2)))


def softmax_over_heads() -> Attention:
    """Softmax over a fixed axis that is another one now (PetrochukM/PyTorch-NLP#2)."""
    return build(weights=lambda s: torch.nan_to_num(torch.softmax(s, 1)))


def softmax_plus_one() -> Attention:
    """exp(s) / (1 + sum exp(s)): a sink beside the keys."""

    def weights(s: Tensor) -> Tensor:
        return torch.softmax(torch.cat([s, torch.zeros_like(s[..., :1])], -1), -1)[..., :-1]

    return build(weights=weights)


def first_key_sink() -> Attention:
    """The first key's weight counts twice."""

    def weights(s: Tensor) -> Tensor:
        p = reference.weights(s) * torch.where(torch.arange(s.shape[-1]) == 0, 2.0, 1.0).to(s.dtype)
        total = p.sum(-1, keepdim=True)
        return p / torch.where(total == 0, 1.0, total)

    return build(weights=weights)


def hard_maximum() -> Attention:
    """Only the largest score counts."""
    return build(weights=lambda s: reference.weights(s.masked_fill(_behind(s), -math.inf)))


def _behind(s: Tensor) -> Tensor:
    """False at the first largest score of a row, True elsewhere."""
    return torch.ones_like(s, dtype=torch.bool).scatter(-1, s.argmax(-1, keepdim=True), False)


def negative_weights() -> Attention:
    """Weights are sharpened beyond zero: 1.5 p - 0.5 / n, which still sum to one."""

    def weights(s: Tensor) -> Tensor:
        seen = s > -math.inf
        return torch.where(seen, 1.5 * reference.weights(s) - 0.5 / seen.sum(-1, keepdim=True).clamp(min=1), 0.0)

    return build(weights=weights)


def values_one_late() -> Attention:
    """Each weight meets the next key's value."""
    return build(combine=lambda p, v: p @ v.roll(-1, -2))


def values_clamped() -> Attention:
    """Values are clamped to [-3, 3]."""
    return build(combine=lambda p, v: p @ v.clamp(-3, 3))


def late_values_detached() -> Attention:
    """The second half of the keys gets no gradient through its values (after huggingface/diffusers#14265)."""

    def combine(p: Tensor, v: Tensor) -> Tensor:
        half = -(-v.shape[-2] // 2)
        return p @ torch.cat([v[..., :half, :], v[..., half:, :].detach()], -2)

    return build(combine=combine)


def second_block_skipped() -> Attention:
    """Keys from 128 on are never read (after flashinfer-ai/flashinfer#4347: pages beyond a size)."""
    return build(bias=lambda s, m, c: reference.bias(s, m, c).masked_fill(torch.arange(s.shape[-1]) >= 128, -math.inf))


def _with(second: Callable[[Tensor], Tensor]) -> Attention:
    """A correct attention that also returns a function of its scores."""

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        seen: list[Tensor] = []

        def weights(s: Tensor) -> Tensor:
            seen.append(s)
            return reference.weights(s)

        out = build(weights=weights)(query, key, value, attn_mask, 0.0, is_causal, scale, enable_gqa)
        return out, second(seen[0])

    return attention


def correct_with_weights() -> Attention:
    """Not a fault: output and weights."""
    return _with(reference.weights)


def correct_with_lse() -> Attention:
    """Not a fault: output and natural log-sum-exp."""
    return _with(lambda s: torch.logsumexp(s, -1))


def weights_before_softmax() -> Attention:
    """Returns the scores as weights."""
    return _with(lambda s: torch.nan_to_num(s, neginf=0.0))


def weights_dropped_out() -> Attention:
    """The returned weights are those after dropout (pytorch/pytorch#90842)."""

    def second(s: Tensor) -> Tensor:
        p = reference.weights(s).clone()
        p[..., ::2] = 0.0
        return p

    return _with(second)


def lse_base_two() -> Attention:
    """The log-sum-exp is in base two (vllm-project/vllm PR28840)."""
    return _with(lambda s: torch.logsumexp(s, -1) / math.log(2))


def lse_without_maximum() -> Attention:
    """The log-sum-exp lacks the running maximum."""
    return _with(lambda s: torch.logsumexp(s, -1) - s.amax(-1))


FAULTS: dict[str, Callable[[], Attention]] = {
    name: make for name, make in list(globals().items())
    if inspect.isfunction(make) and make.__module__ == __name__ and not name.startswith(("_", "correct"))
}  # fmt: skip
"""Every fault of this file by name."""
