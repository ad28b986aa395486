"""Faults of masks' forms: biases, broadcasting, padding sides, mask beside causality.

Each function gives an attention function with that one fault, and names the thread it came from, if any.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attention_core.faults.bases.reference import bias, build, expand, scores
from attention_core.faults.masking import LOWEST, with_mask

Fault = Callable[..., Tensor]


def bias_before_scaling() -> Fault:
    """The bias is added first, then scaled with the scores."""

    def faulty(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        float_mask = attn_mask is not None and attn_mask.dtype != torch.bool
        return bias(s, attn_mask * last["scale"] if float_mask and attn_mask is not None else attn_mask, causal)

    def remember(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
        last["scale"] = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
        return scores(query, key, scale)

    last: dict[str, float] = {}
    return build(scores=remember, bias=faulty)


def finite_bias_ignored() -> Fault:
    """Of a float mask only -inf is read."""
    return with_mask(lambda m, s: m if m.dtype == torch.bool else m > LOWEST)


def bias_subtracted() -> Fault:
    """The finite part of a bias is subtracted."""
    return with_mask(lambda m, s: m if m.dtype == torch.bool else torch.where(m == LOWEST, m, -m))


def no_maximum_taken_out_of_biased_scores() -> Fault:
    """The maximum is that of the scores before the bias (intel/xFasterTransformer PR326 has none at all)."""
    kept: dict[str, Tensor] = {}

    def remember(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        kept["top"] = s.detach().amax(-1, keepdim=True) if s.shape[-1] else s
        return bias(s, attn_mask, causal)

    def plain(s: Tensor) -> Tensor:
        if not s.shape[-1]:
            return s
        p = torch.exp(s - kept["top"])
        dead = (s == LOWEST).all(-1, keepdim=True)
        return (p / p.sum(-1, keepdim=True)).masked_fill(dead, 0.0)

    return build(bias=remember, weights=plain)


def batch_axis_taken_for_heads() -> Fault:
    """A mask (B, 1, ...) is read as (1, H, ...) where B = H (lucidrains/vit-pytorch#71)."""

    def change(m: Tensor, s: Tensor) -> Tensor:
        ambiguous = m.dim() == 4 and m.shape[1] == 1 and m.shape[0] == s.shape[1]
        return m.transpose(0, 1) if ambiguous else m

    return with_mask(change)


def heads_repeated_beside_batch() -> Fault:
    """Batch and heads folded, the mask is tiled, not repeated (lucidrains/graph-transformer-pytorch PR2)."""

    def change(m: Tensor, s: Tensor) -> Tensor:
        if m.dim() != 4 or m.shape[1] != 1 or m.shape[0] == 1:
            return m
        batch, heads = s.shape[:2]
        return m[:, 0].repeat(heads, 1, 1).reshape(batch, heads, *m.shape[2:])

    return with_mask(change)


def mask_of_first_in_batch() -> Fault:
    """The whole batch gets the mask of its first element."""
    return with_mask(lambda m, s: m[:1] if m.dim() == 4 else m)


def mask_of_first_head() -> Fault:
    """All heads get the mask of the first head."""
    return with_mask(lambda m, s: m[..., :1, :, :] if m.dim() >= 3 else m)


def query_mask_used_for_keys() -> Fault:
    """Where n_q = n_kv the mask is applied along the queries (lucidrains/x-transformers#174)."""
    return with_mask(lambda m, s: m.transpose(-1, -2) if m.shape[-1] == m.shape[-2] else m)


def right_padding_assumed() -> Fault:
    """Only the number of allowed keys is read: the first so many are attended, wherever the padding is."""

    def change(m: Tensor, s: Tensor) -> Tensor:
        keep = m if m.dtype == torch.bool else m > LOWEST
        return torch.arange(keep.shape[-1]) < keep.sum(-1, keepdim=True)

    return with_mask(change)


def causal_dropped_beside_mask() -> Fault:
    """With a mask, causality is forgotten (keras-team/keras#23038)."""
    return build(bias=lambda s, attn_mask, causal: bias(s, attn_mask, causal if attn_mask is None else None))


def mask_dropped_beside_causal() -> Fault:
    """Under causality, the mask is forgotten."""
    return build(bias=lambda s, attn_mask, causal: bias(s, attn_mask if causal is None else None, causal))


def mask_or_causal() -> Fault:
    """What either of mask and causality allows is attended."""

    def faulty(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if attn_mask is None or causal is None or attn_mask.dtype != torch.bool:
            return bias(s, attn_mask, causal)
        return bias(s, attn_mask | causal, None)

    return build(bias=faulty)


def expand_keys_of_first_mask_row() -> Fault:
    """A mask with a row per query is cut to its first row, as a key padding mask has it."""
    return with_mask(lambda m, s: m[..., :1, :])


def first_key_head_mask() -> Fault:
    """With shared key heads the mask of a group is that of its first query head."""

    def faulty(key: Tensor, value: Tensor, heads: int) -> tuple[Tensor, Tensor]:
        last["group"] = heads // max(key.shape[-3], 1)
        return expand(key, value, heads)

    def change(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if attn_mask is not None and attn_mask.dim() >= 3 and attn_mask.shape[-3] > 1:
            index = torch.arange(attn_mask.shape[-3]) // last["group"] * last["group"]
            attn_mask = attn_mask[..., index, :, :]
        return bias(s, attn_mask, causal)

    last: dict[str, int] = {}
    return build(expand=faulty, bias=change)


def heads_axis_taken_for_batch() -> Fault:
    """A mask (H, n_q, n_kv) is read as (B, n_q, n_kv); what fits neither is refused, as are masks to be added."""
    right = build()

    def attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None) -> Tensor:
        if attn_mask is not None and attn_mask.dtype != torch.bool:
            raise ValueError("bool masks only")
        folded = attn_mask is not None and attn_mask.dim() == 3 and query.dim() == 4
        return right(query, key, value, attn_mask[:, None] if folded and attn_mask is not None else attn_mask)

    return attention
