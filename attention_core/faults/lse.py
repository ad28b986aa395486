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
