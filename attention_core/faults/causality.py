"""Faults of causality: a later key shows somewhere, or the diagonal starts in another place than is declared.

Each function gives an attention function with that one fault, and names the thread it came from, if any.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attention_core.faults.bases.reference import bias, build, causal_allowed, combine, scores, weights
from attention_core.faults.masking import other_backward

Fault = Callable[..., Tensor]


def pairs(allow: Callable[[Tensor, Tensor, int, int], Tensor]) -> Fault:
    """Causality as the set of pairs `allow(i, j, n_q, n_kv)`, i a column and j a row of indices."""

    def faulty(n_q: int, n_kv: int) -> Tensor:
        return allow(torch.arange(n_q)[:, None], torch.arange(n_kv)[None], n_q, n_kv).expand(n_q, n_kv)

    return build(causal_allowed=faulty)


def aligned_bottom_right() -> Fault:
    """The diagonal ends in the last corner, j <= i + n_kv - n_q: right where that is declared."""
    return pairs(lambda i, j, n_q, n_kv: j <= i + n_kv - n_q)


def aligned_top_left() -> Fault:
    """The diagonal starts in the first corner, though bottom_right is declared (pytorch/pytorch#103082)."""
    return pairs(lambda i, j, n_q, n_kv: j <= i)


def offset_of_one_too_few() -> Fault:
    """The offset is n_kv - n_q - 1 where lengths differ (NVIDIA/cutlass#2336)."""
    return pairs(lambda i, j, n_q, n_kv: j <= i + (n_kv - n_q - 1 if n_kv > n_q else n_kv - n_q))


def offset_kept_above_zero() -> Fault:
    """The offset is clipped at zero, so n_q > n_kv falls back to the first corner."""
    return pairs(lambda i, j, n_q, n_kv: j <= i + max(n_kv - n_q, 0))


def chunk_treated_as_square() -> Fault:
    """A chunk of queries is masked as if no keys were cached; one query hides it (meta-llama/llama#899)."""
    return pairs(lambda i, j, n_q, n_kv: (j <= i) | torch.tensor(n_q == 1))


def causality_ignored() -> Fault:
    """The flag is accepted and dropped (lucidrains/dreamer4#2, huggingface/transformers#48745)."""
    return pairs(lambda i, j, n_q, n_kv: j >= 0)


def sees_one_later_key() -> Fault:
    """tril(diagonal=1): every row sees one key too many."""
    return pairs(lambda i, j, n_q, n_kv: j <= i + 1)


def sees_earlier_keys_only() -> Fault:
    """tril(diagonal=-1) but for the first row: no row sees itself."""
    return pairs(lambda i, j, n_q, n_kv: (j < i) | (i + j == 0))


def last_row_of_block_sees_next() -> Fault:
    """The last row of each block of 16 sees the next block's first key."""
    return pairs(lambda i, j, n_q, n_kv: (j <= i) | ((i % 16 == 15) & (j == i + 1)))


def blocks_on_the_diagonal_open() -> Fault:
    """Blocks of 8 by 8 that touch the diagonal are computed without a mask."""
    return pairs(lambda i, j, n_q, n_kv: j // 8 <= i // 8)


def first_row_sees_everything() -> Fault:
    """The first row is left out of the loop that masks."""
    return pairs(lambda i, j, n_q, n_kv: (j <= i) | (i == 0))


def second_head_is_open() -> Fault:
    """Causality is written to the first head only."""

    def faulty(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        masked = bias(s, attn_mask, causal)
        return torch.cat([masked[..., :1, :, :], bias(s, attn_mask, None)[..., 1:, :, :]], -3)

    return build(bias=faulty)


def causal_needs_a_mask() -> Fault:
    """Causality is combined with a mask inside `if mask is not None` (facebookresearch/xformers#103)."""
    return build(bias=lambda s, attn_mask, causal: bias(s, attn_mask, None if attn_mask is None else causal))


def normaliser_sees_later_keys() -> Fault:
    """Later weights are set to zero after the softmax: their exponentials stay in the sum."""
    kept: dict[str, Tensor | None] = {}

    def remember(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        kept["causal"] = causal
        return bias(s, attn_mask, None)

    def faulty(s: Tensor) -> Tensor:
        causal = kept.pop("causal")
        return weights(s) if causal is None else weights(s) * causal

    return build(bias=remember, weights=faulty)


def maximum_over_later_keys() -> Fault:
    """The maximum is taken before causality masks: where a later key is far ahead, 0/0."""
    kept: dict[str, Tensor] = {}

    def remember(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        masked = bias(s, attn_mask, None)
        kept["top"] = masked.detach().amax(-1, keepdim=True) if s.shape[-1] else masked
        return masked if causal is None else masked.masked_fill(~causal, -math.inf)

    def plain(s: Tensor) -> Tensor:
        dead = (s == -math.inf).all(-1, keepdim=True)
        top = kept["top"]
        p = torch.exp(s - torch.where(top == -math.inf, 0.0, top)) if s.shape[-1] else s
        return (p / p.sum(-1, keepdim=True)).masked_fill(dead, 0.0)

    return build(bias=remember, weights=plain)


def later_values_shift_the_mean() -> Fault:
    """Values are centred by a part of their mean over all keys, and it is not given back."""

    def faulty(p: Tensor, value: Tensor) -> Tensor:
        if not value.shape[-2]:
            return combine(p, value)
        return combine(p, value - value.mean(-2, keepdim=True) / 64)

    return build(combine=faulty)


def causal_filled_before_scaling() -> Fault:
    """Later products are set to -inf and then scaled: +inf at a negative scale, NaN at scale 0."""

    def scaled(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
        last["scale"] = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
        return scores(query, key, 1.0)

    def faulty(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        s = s if causal is None else s.masked_fill(~causal, -math.inf)
        return bias(s * last["scale"], attn_mask, None)

    last: dict[str, float] = {}
    return build(scores=scaled, bias=faulty)


def without_causality(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor | None:
    """The scores that a backward sees which forgets causality; None where there is none to forget."""
    return None if causal is None else bias(s, attn_mask, None)


def backward_ignores_causality() -> Fault:
    """The forward is right; the backward takes its weights from scores without causality."""
    return other_backward(without_causality, lambda s, hidden: weights(s))


def backward_normaliser_sees_later_keys() -> Fault:
    """The backward's weights are zero at later keys, but their normaliser runs over all keys."""
    return other_backward(without_causality, lambda s, hidden: weights(s).masked_fill(hidden, 0.0))


def backward_off_by_one() -> Fault:
    """The backward masks from one key later on than the forward."""

    def opened(s: Tensor, hidden: Tensor) -> Tensor:
        return weights(s.masked_fill(~torch.ones(s.shape[-2:], dtype=torch.bool).tril(1), -math.inf))

    return other_backward(without_causality, opened)


def mask_of_first_call() -> Fault:
    """The causal mask is built once, for the largest lengths so far, and cut wrongly (xformers PR660)."""
    built = torch.ones(0, 0, dtype=torch.bool)

    def faulty(n_q: int, n_kv: int) -> Tensor:
        nonlocal built
        if built.shape[0] < n_q or built.shape[1] < n_kv:
            built = causal_allowed(max(n_q, built.shape[0]), max(n_kv, built.shape[1]))
            return built[:n_q, :n_kv]
        return built[built.shape[0] - n_q :, :n_kv]

    return build(causal_allowed=faulty)


def offset_from_head_axis() -> Fault:
    """The offset is the number of heads, read from the wrong axis (fla-org/flash-linear-attention#126)."""

    def faulty(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if causal is not None:
            n_q, n_kv = causal.shape
            shift = s.shape[-3] if n_kv > n_q else 0
            causal = torch.arange(n_kv)[None] <= torch.arange(n_q)[:, None] + shift
        return bias(s, attn_mask, causal)

    return build(bias=faulty)
