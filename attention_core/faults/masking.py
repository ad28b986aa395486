"""Faults of masking: what is hidden shows in the output or in a gradient.

Each function gives an attention function with that one fault, and names the thread it came from, if any.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases import reference
from attention_core.faults.bases.inputs import Attention, Given, around
from attention_core.faults.bases.reference import bias, build, combine, correct, scores, weights
from attention_core.faults.row import rows

Fault = Callable[..., Tensor]
Bias = Callable[[Tensor, Tensor | None, Tensor | None], Tensor]
LOWEST = -math.inf


def with_mask(change: Callable[[Tensor, Tensor], Tensor | None]) -> Fault:
    """The correct function after `change(mask, scores)` of the mask."""

    def faulty(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        return bias(s, None if attn_mask is None else change(attn_mask, s), causal)

    return build(bias=faulty)


def filled(value: float, *, additive: bool = False) -> Bias:
    """Masked scores get a finite number, written over them or added to them."""

    def fill(s: Tensor, hidden: Tensor) -> Tensor:
        return s + value * hidden if additive else s.masked_fill(hidden, value)

    def faulty(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            s = fill(s, ~attn_mask)
        elif attn_mask is not None:
            s = fill(s + attn_mask.masked_fill(attn_mask == LOWEST, 0.0), attn_mask == LOWEST)
        return s if causal is None else fill(s, ~causal)

    return faulty


# --- what is hidden shows ---


def mask_ignored() -> Fault:
    """The mask is accepted and dropped (TransformerLensOrg/TransformerLens#1005, jax-ml/jax#23349)."""
    return build(bias=lambda s, attn_mask, causal: bias(s, None, causal))


def masked_fill_discarded() -> Fault:
    """`s.masked_fill(...)` without assignment: bool masks do nothing (lucidrains/flamingo-pytorch#10)."""
    return with_mask(lambda m, s: None if m.dtype == torch.bool else m)


def polarity_reversed() -> Fault:
    """True in a bool mask hides (rasbt/LLMs-from-scratch PR1062, lucidrains/halonet-pytorch#4)."""
    return with_mask(lambda m, s: ~m if m.dtype == torch.bool else m)


def additive_mask_cast_to_bool() -> Fault:
    """A float mask is cast by `.bool()`, so 0 hides and -inf attends (huggingface/transformers PR38094)."""
    return with_mask(lambda m, s: m.bool())


def mask_after_softmax() -> Fault:
    """Weights are set to zero after the softmax and not normalised again (pytorch-image-models PR2236)."""
    return _after_softmax(lambda p, keep: p * keep)


def mask_after_softmax_renormalised() -> Fault:
    """Weights are masked after the softmax and divided by their sum: 0/0 beside a huge masked key."""
    return _after_softmax(lambda p, keep: p * keep / (p * keep).sum(-1, keepdim=True))


def infinity_after_softmax() -> Fault:
    """-inf is filled into the weights, not into the scores (gabrielmittag/NISQA#17)."""
    return _after_softmax(lambda p, keep: p.masked_fill(~keep, LOWEST))


def _after_softmax(change: Callable[[Tensor, Tensor], Tensor]) -> Fault:
    kept: dict[str, Tensor | None] = {}

    def no_bias(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        kept["keep"] = (
            None if attn_mask is None else (attn_mask if attn_mask.dtype == torch.bool else attn_mask > LOWEST)
        )
        finite = None if attn_mask is None or attn_mask.dtype == torch.bool else attn_mask.clamp(min=-1e30)
        finite = None if finite is None else finite.masked_fill(finite == -1e30, 0.0)
        return bias(s, finite, causal)

    def change_weights(s: Tensor) -> Tensor:
        keep, p = kept.pop("keep"), weights(s)
        return p if keep is None else change(p, keep)

    return build(bias=no_bias, weights=change_weights)


def wrong_sign_infinity() -> Fault:
    """Masked scores are filled with +inf (lucidrains/memory-compressed-attention#2)."""
    return build(bias=filled(math.inf))


def fill_1e4() -> Fault:
    """-1e4 is written over masked scores: too weak beside lower ones (pytorch/benchmark PR794)."""
    return build(bias=filled(-1e4))


def additive_fill_1e4() -> Fault:
    """-1e4 is added to masked scores (huggingface/transformers PR17306)."""
    return build(bias=filled(-1e4, additive=True))


def fill_1e9() -> Fault:
    """-1e9 is written over masked scores (ahrefs/ocannl#548): too weak in float64, dead rows are means."""
    return build(bias=filled(-1e9))


def additive_fill_1e9() -> Fault:
    """-1e9 is added to masked scores: a huge masked key outweighs it (ahrefs/ocannl#548)."""
    return build(bias=filled(-1e9, additive=True))


def masked_score_comes_back() -> Fault:
    """Masked scores are filled before a later factor shrinks them (huggingface/transformers PR18185)."""

    def faulty(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            return bias((64 * s).masked_fill(~attn_mask, -1e4) / 64, None, causal)
        return bias(s, attn_mask, causal)

    return build(bias=faulty)


def nan_leaks_through_zero_weight() -> Fault:
    """Masked scores are -inf, but P @ V forms 0 * NaN (pytorch/pytorch#101967)."""
    return correct


def nan_leaks_in_backward() -> Fault:
    """The forward leaves out garbage behind zero weights, the backward forms 0 * NaN."""

    def hidden_by_all(s: Tensor) -> Tensor:
        return (s == LOWEST).all(-2)[..., :, None]

    seen: dict[str, Tensor] = {}

    def keep(s: Tensor) -> Tensor:
        seen["hidden"] = hidden_by_all(s)
        return weights(s)

    def skip(p: Tensor, value: Tensor) -> Tensor:
        hidden = seen.pop("hidden").expand(*value.shape[:-1], 1)
        clean = p @ value.masked_fill(hidden, 0.0)
        return clean + (p @ value - (p @ value).detach()) if torch.is_grad_enabled() else clean

    return build(weights=keep, combine=skip)


def masked_nan_removed() -> Fault:
    """NaN in values is replaced by zero throughout, so what is declared to propagate vanishes."""
    return build(
        scores=lambda q, k, scale: scores(q, k.nan_to_num(), scale),
        combine=lambda p, v: combine(p, v.nan_to_num()),
    )


def masked_nan_leaves_its_slice() -> Fault:
    """Whether anything is NaN is decided for the whole batch."""

    def faulty(p: Tensor, value: Tensor) -> Tensor:
        return combine(p, value) + 0.0 * value.sum()

    return build(combine=faulty)


# --- the backward ---


class _Swap(torch.autograd.Function):
    """The first argument's value, the second one's gradient."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, graph: Tensor) -> Tensor:
        return value.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return None, gradient


def swapped_backward(value: Tensor, graph: Tensor) -> Tensor:
    """`value` in the forward pass and the derivatives of `graph` in the backward pass."""
    found: Tensor = _Swap.apply(value.detach(), graph)
    return found


def other_backward(
    opened: Callable[[Tensor, Tensor | None, Tensor | None], Tensor | None],
    change: Callable[[Tensor, Tensor], Tensor],
) -> Fault:
    """The correct forward; the backward has the weights `change(opened scores, hidden pairs)`."""
    kept: dict[str, tuple[Tensor | None, Tensor]] = {}

    def remember(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        masked = bias(s, attn_mask, causal)
        kept["last"] = opened(s, attn_mask, causal), masked == LOWEST
        return masked

    def faulty(s: Tensor) -> Tensor:
        other, hidden = kept.pop("last")
        return weights(s) if other is None else swapped_backward(weights(s), change(other, hidden))

    return build(bias=remember, weights=faulty)


def backward_ignores_mask() -> Fault:
    """The forward is right; the backward takes its weights from scores without the mask."""
    return other_backward(
        lambda s, attn_mask, causal: None if attn_mask is None else bias(s, None, causal),
        lambda s, hidden: weights(s),
    )


def backward_renormalises_over_all_keys() -> Fault:
    """The backward's weights are zero at masked keys, but their normaliser runs over all keys."""
    return other_backward(
        lambda s, attn_mask, causal: None if attn_mask is None else s,
        lambda s, hidden: weights(s).masked_fill(hidden, 0.0),
    )


def bias_without_positive_part_is_a_bool_mask() -> Attention:
    """A float mask whose largest entry is 0 is taken for a padding mask, and every other entry for -inf (ALiBi!)."""

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if mask is not None and mask.dtype != torch.bool and mask.numel() and float(mask.detach().max()) == 0.0:
            mask = mask == 0
        return reference.bias(s, mask, causal)

    return build(bias=bias)


def tiles_tested_at_their_corners() -> Any:
    """A 16 x 16 tile of a bool mask is skipped if its four corners are False, which is enough for causal ones and
    windows.
    """

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if mask is not None and mask.dtype == torch.bool and s.numel():
            mask = mask.expand(s.shape)
            at = [torch.arange(n) // 16 * 16 for n in s.shape[-2:]]
            ends = [(a + 15).clamp(max=n - 1) for a, n in zip(at, s.shape[-2:], strict=True)]
            corners = [mask[..., r, :][..., c] for r in (at[0], ends[0]) for c in (at[1], ends[1])]
            mask = mask & torch.stack(corners).any(0)
        return reference.bias(s, mask, causal)

    return build(bias=bias)


def one_key_needs_no_mask() -> Any:
    """The softmax over a single key is one, so its value is returned at once, also where the mask hides it."""

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        if key.shape[-2] != 1:
            return reference.correct(query, key, value, attn_mask, 0.0, is_causal, scale, enable_gqa)
        reference.check(query, key, value, attn_mask, enable_gqa)
        v = reference.expand(key, value, query.shape[-3])[1]
        return v.expand(*query.shape[:-1], v.shape[-1]) + 0.0 * (query.sum() + key.sum())

    return attention


def one_key_weighs_one() -> Any:
    """A softmax over one key is 1, also where that key is hidden (textbook slip).

    n_kv = 1 and a mask that hides it.
    """

    def weights(s: Tensor) -> Tensor:
        return reference.weights(s) if s.shape[-1] != 1 else 1.0 + 0.0 * s.masked_fill(s == -math.inf, 0.0)

    return build(weights=weights)


def keys_of_zeros_are_padding() -> Any:
    """Padding is read from keys that are all zero (common in hand-written layers).

    A key of zeros among others.
    """

    def scores(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
        blank = (key == 0).all(-1).unsqueeze(-2)
        blank = blank & ~blank.all(-1, keepdim=True)
        return reference.scores(query, key, scale).masked_fill(blank, -math.inf)

    return build(scores=scores)


def blocks_skipped_by_the_first_mask() -> Any:
    """Blocks of 4 x 4 are skipped where the first mask is empty (FlexAttention's block mask with B = None, H = None).

    Bool masks that differ between heads or sequences, and five keys or more.
    """

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if mask is not None and mask.dtype == torch.bool and s.shape[-1] > 4 and s.numel():
            n_q, n_kv = s.shape[-2:]
            first = mask.expand(s.shape).flatten(0, -3)[0]
            tiles = torch.nn.functional.pad(first, (0, -n_kv % 4, 0, -n_q % 4)).unflatten(1, (-1, 4))
            kept = tiles.unflatten(0, (-1, 4)).any(3).any(1)
            mask = mask & kept[torch.arange(n_q)[:, None] // 4, torch.arange(n_kv) // 4]
        return reference.bias(s, mask, causal)

    return build(bias=bias)


def blocks_full_by_their_corners() -> Any:
    """A block of 4 x 4 counts as full where its four corners are open (a shortcut of block masks).

    Bool masks with holes, four queries and four keys or more.
    """

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if mask is not None and mask.dtype == torch.bool:
            mask = mask.expand(s.shape).clone()
            for i in range(0, s.shape[-2] - 3, 4):
                for j in range(0, s.shape[-1] - 3, 4):
                    tile = mask[..., i : i + 4, j : j + 4]
                    tile |= tile[..., ::3, ::3].all(-1).all(-1)[..., None, None]
        return reference.bias(s, mask, causal)

    return build(bias=bias)


def bias_below_minus_10000_hides() -> Any:
    """A float mask below -1e4 is taken for hidden: a row that is biased by -2e4 throughout gets nothing."""

    def change(a: Given) -> Given:
        mask = a["attn_mask"]
        if mask is None or mask.dtype == torch.bool:
            return {}
        return {"attn_mask": mask.masked_fill(mask < -1e4, -math.inf)}

    return around(change)


def hidden_keys_ten_below_the_minimum() -> Any:
    """Hidden keys get their row's minimum less 10, not -inf: they keep weight where scores are flat."""

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if mask is not None and mask.dtype == torch.bool and s.shape[-1]:
            s = torch.where(mask, s, s.amin(-1, keepdim=True) - 10)
            s, mask = s.masked_fill(~mask.expand(s.shape).any(-1, keepdim=True), -math.inf), None
        return reference.bias(s, mask, causal)

    return build(bias=bias)


def one_key_ignores_its_bias() -> Any:
    """With one key its value is returned at once, and a bias of -inf is not looked at."""

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        alone = s.shape[-1] == 1 and mask is not None and mask.is_floating_point()
        return reference.bias(s, None if alone else mask, causal)

    return build(bias=bias)


ROWS = (
    *rows("hard_inputs", bias_without_positive_part_is_a_bool_mask, accumulate="float32"),
    *rows("second_sight", tiles_tested_at_their_corners, one_key_needs_no_mask, accumulate="float32"),
    *rows("fourth_sight", one_key_weighs_one, keys_of_zeros_are_padding),
    *rows("fourth_sight_masks", blocks_skipped_by_the_first_mask, blocks_full_by_their_corners),
    *rows("fifth_sight_masks", bias_below_minus_10000_hides, one_key_ignores_its_bias),
    *rows("fifth_sight_masks", hidden_keys_ten_below_the_minimum, dtypes=("float32", "float64", "bfloat16")),
)  # fmt: skip
