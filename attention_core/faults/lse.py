"""Faults of the log-sum-exp: wrong bases, forgotten terms, keys that should not count.

`build_lse()` is correct and returns (out, lse); each other function builds one with one fault, told in its
docstring with the thread where people made it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases import reference
from attention_core.faults.row import rows

Fault = Callable[..., tuple[Tensor, Tensor]]


def log_sum_exp(s: Tensor, raw: Tensor) -> Tensor:
    """Natural log of the sum over attended keys; `raw` are the scores before mask and bias."""
    return torch.logsumexp(s, -1)


def build_lse(lse: Callable[[Tensor, Tensor], Tensor] = log_sum_exp, **changed: Callable[..., Any]) -> Fault:
    """Attention that returns (out, lse); `changed` replaces steps of the reference."""
    step = reference.STEPS | changed

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        step["check"](query, key, value, attn_mask, enable_gqa)
        dtype = query.dtype
        query, key, value = (x.to(torch.promote_types(dtype, torch.float32)) for x in (query, key, value))
        key, value = step["expand"](key, value, query.shape[-3])
        causal = step["causal_allowed"](query.shape[-2], key.shape[-2]) if is_causal else None
        raw = step["scores"](query, key, scale)
        s = step["bias"](raw, attn_mask, causal)
        return step["combine"](step["weights"](s), value).to(dtype), lse(s, raw)

    return attention


def base_two() -> Fault:
    """The kernel works in powers of two and returns log2 (vllm-project/vllm PR28840, PR47079)."""
    return build_lse(lambda s, raw: torch.logsumexp(s, -1) / math.log(2))


def without_the_maximum() -> Fault:
    """The running maximum is taken out of the sum and not added to its log."""
    return build_lse(lambda s, raw: torch.logsumexp(s, -1) - s.amax(-1).clamp(min=-1e30))


def maximum_alone() -> Fault:
    """The running maximum is returned in place of the log-sum-exp."""
    return build_lse(lambda s, raw: s.amax(-1))


def mean_for_sum() -> Fault:
    """The log of the mean of exponentials: equal parts hide it."""
    return build_lse(lambda s, raw: torch.logsumexp(s, -1) - math.log(max(s.shape[-1], 1)))


def lse_of_masked_keys() -> Fault:
    """Masked keys count in the log-sum-exp, though not in the output."""
    return build_lse(lambda s, raw: torch.logsumexp(raw + torch.where(s == -math.inf, 0.0, s - raw), -1))


def masked_keys_count_far_below() -> Fault:
    """Masked keys count as much as a score of -1000 in the log-sum-exp, which is much where all others lie lower."""

    def lse(s: Tensor, raw: Tensor) -> Tensor:
        dead = (s == -math.inf).all(-1)
        return torch.logsumexp(s.masked_fill(s == -math.inf, -1000.0), -1).masked_fill(dead, -math.inf)

    return build_lse(lse)


def lse_without_bias() -> Fault:
    """The log-sum-exp is that of the scores before the bias."""
    return build_lse(lambda s, raw: torch.logsumexp(raw.masked_fill(s == -math.inf, -math.inf), -1))


def counts_padding() -> Fault:
    """Keys are padded to a block of 8 with zeros, and the padding counts."""
    return build_lse(lambda s, raw: torch.logsumexp(torch.nn.functional.pad(s, (0, -s.shape[-1] % 8)), -1))


def dead_rows_have_lse_zero() -> Fault:
    """A row without keys has log-sum-exp 0, the weight of one key of score 0, when it is merged."""
    return build_lse(lambda s, raw: torch.logsumexp(s, -1).nan_to_num(neginf=0.0))


def dead_rows_have_lse_plus_inf() -> Fault:
    """A row without keys has log-sum-exp +inf: a mark for the backward, poison for a merge."""

    def lse(s: Tensor, raw: Tensor) -> Tensor:
        found = torch.logsumexp(s, -1)
        return found.masked_fill(found == -math.inf, math.inf)

    return build_lse(lse)


def dead_rows_have_a_very_low_lse() -> Fault:
    """A row without keys has the log-sum-exp of a finite fill."""
    return build_lse(lambda s, raw: torch.logsumexp(s.clamp(min=torch.finfo(s.dtype).min), -1))


def lse_in_half_precision() -> Fault:
    """The log-sum-exp is stored in half precision whatever the inputs."""
    return build_lse(lambda s, raw: torch.logsumexp(s, -1).half().float())


def output_not_normalised() -> Fault:
    """The output is the unnormalised sum, left to the merge to divide."""
    return build_lse(weights=lambda s: torch.exp(s.clamp(max=60.0)))


def lse_of_split_keys_in_two_bases() -> Fault:
    """For few queries the keys are split, and the parts' log-sum-exps merge as m + log2 of the rest."""

    def lse(s: Tensor, raw: Tensor) -> Tensor:
        found = torch.logsumexp(s, -1)
        if s.shape[-2] > 2 or s.shape[-1] < 32:
            return found
        top = s.detach().amax(-1).clamp(min=torch.finfo(s.dtype).min)
        return top + (found - top) / math.log(2)

    return build_lse(lse)


def lse_gradient_ignored() -> Fault:
    """The backward takes no cotangent of the log-sum-exp into account."""

    def lse(s: Tensor, raw: Tensor) -> Tensor:
        found = torch.logsumexp(s, -1)
        return found.detach() + 0.0 * found.masked_fill(found == -math.inf, 0.0)

    return build_lse(lse)


def lse_gradient_without_the_softmax() -> Fault:
    """Every attended key gets the same share of the log-sum-exp's gradient."""

    def lse(s: Tensor, raw: Tensor) -> Tensor:
        found, open_keys = torch.logsumexp(s, -1), s > -math.inf
        mean = s.masked_fill(~open_keys, 0.0).sum(-1) / open_keys.sum(-1).clamp(min=1)
        return found.detach() + mean - mean.detach()

    return build_lse(lse)


def lse_of_the_unscaled_scores() -> Fault:
    """The log-sum-exp is taken with the default scale where another one is given."""
    ours: list[Any] = []

    def keep(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
        s = reference.scores(query, key, scale)
        ours[:] = [reference.scores(query, key, None) - s]
        return s

    return build_lse(lambda s, raw: torch.logsumexp(s + ours[0], -1), scores=keep)


def lse_one_block_behind() -> Fault:
    """The log-sum-exp is written before the last, partial block of 16 keys is read."""

    def behind(s: Tensor, raw: Tensor) -> Tensor:
        n = s.shape[-1]
        return torch.logsumexp(s[..., : n // 16 * 16] if n > 16 and n % 16 else s, -1)

    return build_lse(behind)


def lse_in_bfloat16_for_bfloat16() -> Fault:
    """For bfloat16 inputs the log-sum-exp is rounded to bfloat16 on its way: 4e-3 relative."""
    dtype: list[torch.dtype] = [torch.float32]

    def note(query: Tensor, key: Tensor, value: Tensor, mask: Any, gqa: bool) -> None:
        dtype[0] = query.dtype
        reference.check(query, key, value, mask, gqa)

    def rounded(s: Tensor, raw: Tensor) -> Tensor:
        found = torch.logsumexp(s, -1)
        return found.bfloat16().float() if dtype[0] == torch.bfloat16 else found

    return build_lse(rounded, check=note)


def lse_of_grouped_heads_in_another_order() -> Fault:
    """With shared key heads the log-sum-exp has its heads by group member first; the output has not."""
    group = [1]

    def expand(key: Tensor, value: Tensor, heads: int) -> tuple[Tensor, Tensor]:
        group[0] = heads // key.shape[-3]
        return reference.expand(key, value, heads)

    def turned(s: Tensor, raw: Tensor) -> Tensor:
        found, g = torch.logsumexp(s, -1), group[0]
        if g == 1:
            return found
        return found.unflatten(-2, (-1, g)).transpose(-2, -3).flatten(-3, -2)

    return build_lse(turned, expand=expand)


def lse_without_a_gradient() -> Fault:
    """The log-sum-exp is cut off the graph."""
    return build_lse(lambda s, raw: torch.logsumexp(s, -1).detach())


class _Gate(torch.autograd.Function):
    """Nothing at all, and no gradient where that of the output is zero."""

    @staticmethod
    def forward(ctx: Any, out: Tensor, found: Tensor) -> tuple[Tensor, Tensor]:
        return out.clone(), found.clone()

    @staticmethod
    def backward(ctx: Any, d_out: Tensor, d_lse: Tensor) -> Any:
        return d_out, d_lse if bool(d_out.any()) else torch.zeros_like(d_lse)


def lse_gradient_needs_that_of_the_output() -> Fault:
    """A backward whose dO is zero returns at once: a loss on the log-sum-exp alone moves nothing
    (Dao-AILab/flash-attention#1817).
    """
    right = build_lse()

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        found: tuple[Tensor, Tensor] = _Gate.apply(*right(query, key, value, attn_mask, is_causal, scale, enable_gqa))
        return found

    return attention


def lse_read_without_its_padding() -> Fault:
    """The log-sum-exp is stored with rows padded to 16 and read as if they were not: one head and 16 c rows hide it."""

    def packed(s: Tensor, raw: Tensor) -> Tensor:
        found = torch.logsumexp(s, -1)
        stored = torch.nn.functional.pad(found, (0, -found.shape[-1] % 16), value=-math.inf)
        return stored.flatten()[: found.numel()].reshape(found.shape)

    return build_lse(packed)


def lse_of_smoothed_keys() -> Fault:
    """Keys lose their mean before the scores, which the output does not see, and the log-sum-exp is not set right
    (ROCm/aiter PR3334).

    Two-byte inputs, which alone are smoothed, whose keys have a mean.
    """
    right = build_lse()

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        if key.element_size() == 2 and key.shape[-2]:
            key = key.float() - key.float().mean(-2, keepdim=True)
        return right(query, key, value, attn_mask, is_causal, scale, enable_gqa)

    return attention


def lse_of_two_bases_in_decoding() -> Fault:
    """The kernel that splits the keys returns m + log2(sum exp(s - m)): one term in each base (intel/sycl-tla PR848).

    One query and 32 keys or more.
    """

    def mixed(s: Tensor, raw: Tensor) -> Tensor:
        found = torch.logsumexp(s, -1)
        if s.shape[-2] != 1 or s.shape[-1] < 32:
            return found
        top = s.detach().amax(-1)
        top = top.masked_fill(top == -math.inf, 0.0)
        return top + (found - top) / math.log(2)

    return build_lse(mixed)


def lse_by_rows_where_keys_are_values() -> Fault:
    """Keys and values in one memory take the latent path, whose log-sum-exp is (B, n_q, H) (meta-pytorch/attention-gym
    PR433).

    The same tensor for both; as many heads as queries leave a shape that looks right.
    """
    right = build_lse()

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        out, found = right(query, key, value, attn_mask, is_causal, scale, enable_gqa)
        one = key.numel() > 0 and key.data_ptr() == value.data_ptr() and key.shape == value.shape
        return out, found.transpose(-1, -2) if one else found

    return attention


class _Flipped(torch.autograd.Function):
    """Nothing at all, and the log-sum-exp's gradient with the other sign."""

    @staticmethod
    def forward(ctx: Any, out: Tensor, found: Tensor) -> tuple[Tensor, Tensor]:
        return out.clone(), found.clone()

    @staticmethod
    def backward(ctx: Any, d_out: Tensor, d_lse: Tensor) -> Any:
        return d_out, -d_lse


def lse_gradient_added_to_delta() -> Fault:
    """dS = P (dP - (D + dLSE)) where D - dLSE belongs: the log-sum-exp's part of the gradient has the wrong sign.

    Any loss that has a part in the log-sum-exp; values get none from it, and are right.
    """
    right = build_lse()

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        found: tuple[Tensor, Tensor] = _Flipped.apply(
            *right(query, key, value, attn_mask, is_causal, scale, enable_gqa)
        )
        return found

    return attention


def lse_of_the_maximum_not_applied() -> Fault:
    """Lazy rescaling: the log-sum-exp is read from the maximum that was not applied (FlashAttention 4's threshold).

    More than four keys, and a maximum that grows by less than 8; the output is right.
    """

    def stale(s: Tensor, raw: Tensor) -> Tensor:
        found, real = torch.logsumexp(s, -1), s.new_full(s.shape[:-1], -math.inf)
        applied = real
        for start in range(0, s.shape[-1], 4):
            real = torch.maximum(real, s.detach()[..., start : start + 4].amax(-1))
            applied = torch.where((real - applied > 8) | torch.tensor(start == 0), real, applied)
        return found + torch.where(real == -math.inf, 0.0, real - applied)

    return build_lse(stale)


def lse_gradient_is_zero() -> Fault:
    """The backward ignores the gradient that comes in through the log-sum-exp."""
    return build_lse(lambda s, raw: torch.logsumexp(s.detach(), -1) + 0.0 * raw.sum(-1))


def lse_of_dead_rows_is_minus_46() -> Fault:
    """The log-sum-exp of a row without keys is log(1e-20), a guard against log 0."""
    return build_lse(lambda s, raw: torch.logsumexp(s, -1).masked_fill((s == -math.inf).all(-1), math.log(1e-20)))


def lse_at_the_default_scale() -> Fault:
    """The log-sum-exp is of scores at the default scale, whatever was given; the output is right."""
    kept: list[Tensor] = []

    def scores(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
        kept[:] = [reference.scores(query, key, None)]
        return reference.scores(query, key, scale)

    return build_lse(lambda s, raw: torch.logsumexp(kept.pop() + (s - raw), -1), scores=scores)


def lse_of_groups_in_the_other_order() -> Fault:
    """The log-sum-exp comes as (group, H_kv) where heads lie as (H_kv, group); the output is right."""
    kept = {"group": 1}

    def expand(key: Tensor, value: Tensor, heads: int) -> tuple[Tensor, Tensor]:
        kept["group"] = heads // key.shape[-3]
        return reference.expand(key, value, heads)

    def swapped(s: Tensor, raw: Tensor) -> Tensor:
        return torch.logsumexp(s, -1).unflatten(-2, (-1, kept["group"])).transpose(-3, -2).flatten(-3, -2)

    return build_lse(swapped, expand=expand)


COMMON: dict[str, Any] = {"contract": "attention-lse", "returns": "out,lse"}
"""What each of them declares."""
ROWS = (
    *rows(
        "hard_contracts", lse_of_the_unscaled_scores, lse_one_block_behind, lse_in_bfloat16_for_bfloat16,
        accumulate="float32", **COMMON,
    ),
    *rows("first_sight_others", lse_of_grouped_heads_in_another_order, accumulate="float32", **COMMON),
    *rows(
        "first_sight_others", lse_without_a_gradient, accumulate="float32", expected="allowed",
        argument="the contract judges the gradient of a log-sum-exp where it carries one, and it need not", **COMMON,
    ),
    *rows(
        "second_sight_others", lse_gradient_needs_that_of_the_output, lse_read_without_its_padding,
        accumulate="float32", **COMMON,
    ),
    *rows(
        "third_sight_others", lse_of_smoothed_keys, lse_of_two_bases_in_decoding, lse_by_rows_where_keys_are_values,
        lse_gradient_added_to_delta, accumulate="float32", **COMMON,
    ),
    *rows("fourth_sight_others", lse_of_the_maximum_not_applied, accumulate="float32", **COMMON),
    *rows(
        "fifth_sight_others", lse_gradient_is_zero, lse_of_dead_rows_is_minus_46, lse_at_the_default_scale,
        lse_of_groups_in_the_other_order, **COMMON,
    ),
)  # fmt: skip
