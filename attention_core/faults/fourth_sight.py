"""A fourth set of faults of attention, written by somebody who had seen neither the laws nor the faults so far.

Their rate of refutation at first sight is in experiments/power/first_sight.json. They are what they were then, on the
catalogue's own correct bases, and declare what they declared then.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases import reference
from attention_core.faults.bases.reference import build
from attention_core.faults.bases.tiles import Tiles
from attention_core.faults.row import row

# --- softmax --------------------------------------------------------------------------------------


def splits_without_keys_weigh_one() -> Any:
    """A split of 8 keys that are all hidden leaves 0 as its log-sum-exp (compare Dao-AILab/flash-attention#2842).

    Causal rows and masks that hide a whole split: its output is zero, and its weight exp(0).
    """

    def weights(s: Tensor) -> Tensor:
        n = s.shape[-1]
        if not n:
            return reference.weights(s)
        splits = torch.nn.functional.pad(s.detach(), (0, -n % 8), value=-math.inf).unflatten(-1, (-1, 8))
        empty = (splits == -math.inf).all(-1).sum(-1, keepdim=True)
        return torch.cat([s, empty.to(s.dtype).log()], -1).softmax(-1)[..., :n]

    return build(weights=weights)


class maximum_never_below_zero(Tiles):  # noqa: N801
    """The running maximum of the online softmax starts at 0, where -inf belongs (textbook slip).

    Rows whose scores all lie below about -100: every exponential is 0.
    """

    def first_maximum(self) -> float:
        return 0.0


def maximum_times_a_negative_scale() -> Any:
    """exp2(qk scale - max(qk) scale): a negative scale makes the maximum a minimum (as FlashAttention writes it).

    A negative scale over scores more than 100 apart.
    """
    kept = {"negative": False}

    def scores(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
        kept["negative"] = scale is not None and scale < 0
        return reference.scores(query, key, scale)

    def weights(s: Tensor) -> Tensor:
        if not kept["negative"] or not s.shape[-1]:
            return reference.weights(s)
        low = s.detach().masked_fill(s == -math.inf, math.inf).amin(-1, keepdim=True)
        e = torch.exp(s - low.masked_fill(low == math.inf, 0.0))
        z = e.sum(-1, keepdim=True)
        return e / z.masked_fill(z == 0, 1.0)

    return build(scores=scores, weights=weights)


def maximum_of_whole_groups_of_eight() -> Any:
    """The row maximum is taken over whole groups of 8 keys, without the tail (the loop of a vector unit).

    9 to 15, 17 to 23, ... keys of which one in the tail scores 89 more than the rest.
    """

    def weights(s: Tensor) -> Tensor:
        n = s.shape[-1]
        if n <= 8:
            return reference.weights(s)
        raw, dead = s.detach(), (s == -math.inf).all(-1, keepdim=True)
        m = raw[..., : n - n % 8].amax(-1, keepdim=True)
        m = torch.where(m == -math.inf, raw.amax(-1, keepdim=True), m).masked_fill(dead, 0.0)
        e = torch.exp(s - m)
        return e / e.sum(-1, keepdim=True).masked_fill(dead, 1.0)

    return build(weights=weights)


def one_key_weighs_one() -> Any:
    """A softmax over one key is 1, also where that key is hidden (textbook slip).

    n_kv = 1 and a mask that hides it.
    """

    def weights(s: Tensor) -> Tensor:
        return reference.weights(s) if s.shape[-1] != 1 else 1.0 + 0.0 * s.masked_fill(s == -math.inf, 0.0)

    return build(weights=weights)


# --- dead rows and numbers that are none ----------------------------------------------------------


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


# --- inputs ---------------------------------------------------------------------------------------


def features_behind_the_last_eight() -> Any:
    """A dot product by groups of 8 leaves out its tail once there is a whole group (ggml's vec_dot without its tail).

    Head sizes of 9 to 15, 17 to 23, ...
    """

    def scores(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
        d = query.shape[-1]
        used = d if d <= 8 else d - d % 8
        return reference.scores(query[..., :used], key[..., :used], d**-0.5 if scale is None and d else scale)

    return build(scores=scores)


def keys_of_zeros_are_padding() -> Any:
    """Padding is read from keys that are all zero (common in hand-written layers).

    A key of zeros among others.
    """

    def scores(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
        blank = (key == 0).all(-1).unsqueeze(-2)
        blank = blank & ~blank.all(-1, keepdim=True)
        return reference.scores(query, key, scale).masked_fill(blank, -math.inf)

    return build(scores=scores)


def changed(change: Any) -> Any:
    """Correct attention of what `change(query, key, value, mask)` makes of values and mask, after the checks."""

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        reference.check(query, key, value, attn_mask, enable_gqa)
        value, attn_mask = change(query, key, value, attn_mask)
        return reference.correct(query, key, value, attn_mask, 0.0, is_causal, scale, enable_gqa)

    return attention


def values_by_the_strides_of_keys() -> Any:
    """Values are read with another input's strides, here the keys' (triton-lang/triton#1016).

    Values that lie otherwise than keys of the same shape, and ask for no gradient.
    """

    def change(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
        if key.shape == value.shape and key.stride() != value.stride() and not value.requires_grad:
            size = value.untyped_storage().nbytes() // value.element_size() - value.storage_offset()
            if sum((n - 1) * s for n, s in zip(key.shape, key.stride(), strict=True)) < size:
                value = torch.as_strided(value, value.shape, key.stride())
        return value, mask

    return changed(change)


ROWS = (
    row(maximum_never_below_zero, "hard", "fourth_sight", accumulate="float32"),
    row(hidden_twice_is_hidden_more, "hard", "fourth_sight", dead_rows="uniform"),
    row(weights_of_dead_rows_are_nan, "hard", "fourth_sight", returns="out,weights"),
    *(row(make, "hard", "fourth_sight") for make in (
        splits_without_keys_weigh_one, maximum_times_a_negative_scale, maximum_of_whole_groups_of_eight,
        one_key_weighs_one, every_nan_becomes_zero, features_behind_the_last_eight, keys_of_zeros_are_padding,
        values_by_the_strides_of_keys,
    )),
)  # fmt: skip
