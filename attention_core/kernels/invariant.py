"""Batch-invariant attention: a row has the same bits in any batch, among any rows, heads and masked keys.

Rounding depends on the order of a sum. A matrix product chooses its order by the sizes of the whole call, so that the
same prompt has other bits in another batch. Here every sum is taken term by term, from the first to the last, in
operations on single elements, which IEEE 754 rounds alike wherever an element lies; the exponential is a polynomial,
since a library's may round its vectors and what is left over differently. It is slow: a reference, not a kernel to
serve with.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from attention_core.kernels.arguments import Problem, broadcast, check_mask_fits, check_shapes, prepare


class Binary(NamedTuple):
    """What the exponential needs to know of a floating-point format."""

    whole: torch.dtype  # integers of the same width
    bias: int  # of the exponent
    shift: int  # bits of the mantissa
    high: float  # log 2 in so few bits that whole multiples of it are exact
    low: float  # the rest of log 2
    terms: int  # of the series: the next one is below half a unit in the last place
    least: float  # below it, e^x is 0


BINARY = {
    torch.float32: Binary(torch.int32, 127, 23, 0.693145751953125, 1.4286068203094172e-06, 8, -150.0),
    torch.float64: Binary(torch.int64, 1023, 52, 0.6931471803691238, 1.9082149292705877e-10, 14, -1000.0),
}


def exponential(x: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """e^x for x <= 0, by products and sums alone: e^x = 2^k e^r with |r| <= log(2) / 2, and e^r by its series.

    Args: x float32 or float64, at most 0; NaN stays NaN. Returns: same shape; subnormal numbers are kept.
    Example:
        >>> exponential(torch.tensor([0.0, -torch.inf])).tolist()
        [1.0, 0.0]

    Source: Cody and Waite, "Software Manual for the Elementary Functions" (1980), chapter 6.
    """
    form = BINARY[x.dtype]
    x = x.clamp(min=form.least)
    k = (x * (1.0 / math.log(2.0))).round()
    r = (x - k * form.high) - k * form.low
    series = torch.full_like(r, 1.0 / math.factorial(form.terms - 1))
    for i in reversed(range(form.terms - 1)):
        series = series * r + 1.0 / math.factorial(i)
    # 2^k may be too small for a normal number: two halves of it are none, and their product underflows as it should.
    half = (k * 0.5).floor()
    return series * power_of_two(half, form) * power_of_two(k - half, form)


def power_of_two(k: Float[Tensor, "*any"], form: Binary) -> Float[Tensor, "*any"]:
    """2^k of whole numbers k, put together from its bits."""
    exponent = torch.where(k.isnan(), 0.0, k).to(form.whole) + form.bias
    return (exponent << form.shift).view(k.dtype)


def ordered_product(
    a: Float[Tensor, "*batch m k"], b: Float[Tensor, "*batch k n"], seen: Bool[Tensor, "*mask m k"] | None = None
) -> Float[Tensor, "*batch m n"]:
    """c_ij = sum over t of a_it b_tj, added up from the first t to the last; pairs (i, t) not seen add nothing.

    Example:
        >>> ordered_product(torch.ones(1, 2), torch.tensor([[1.0], [2.0]]))
        tensor([[3.]])
    """
    total = torch.zeros((*a.shape[:-1], b.shape[-1]), dtype=a.dtype, device=a.device)
    for t in range(a.shape[-1]):
        term = a[..., :, t, None] * b[..., None, t, :]
        total = total + (term if seen is None else torch.where(seen[..., :, t, None], term, 0.0))
    return total


def ordered_sum(x: Float[Tensor, "*any n"]) -> Float[Tensor, "*any"]:
    """The sum over the last axis, added up from the first term to the last.

    Example:
        >>> ordered_sum(torch.tensor([1.0, 2.0, 3.0]))
        tensor(6.)
    """
    total = torch.zeros(x.shape[:-1], dtype=x.dtype, device=x.device)
    for t in range(x.shape[-1]):
        total = total + x[..., t]
    return total


class _Repeated(torch.autograd.Function):
    """Key heads repeated for their groups of query heads; a group adds up its gradients in the order of its heads."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: int) -> Tensor:
        ctx.group = group
        return x.repeat_interleave(group, dim=-3)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        parts = grad.reshape(*grad.shape[:-3], -1, ctx.group, *grad.shape[-2:]).unbind(-3)
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total, None


class _Attention(torch.autograd.Function):
    """Output and gradients, every sum in the order of its terms."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, problem: Problem) -> Tensor:
        scores = ordered_product(query, key.mT) * problem.scale
        if problem.bias is not None:
            scores = scores + problem.bias
        scores = torch.where(problem.attend, scores, -torch.inf)
        # The largest number does not depend on an order. The column in front is for no keys at all.
        largest = torch.nn.functional.pad(scores, (1, 0), value=-torch.inf).amax(-1, keepdim=True)
        weights = exponential(scores - torch.where(largest == -torch.inf, 0.0, largest))
        total = ordered_sum(weights)[..., None]
        total = torch.where(largest == -torch.inf, 1.0, total)
        out = ordered_product(weights, value, problem.attend) / total
        ctx.save_for_backward(query, key, value, weights / total, out)
        ctx.problem = problem
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, weights, out = ctx.saved_tensors
        seen = ctx.problem.attend
        along = ordered_sum(grad * out)[..., None]
        by_score = weights * (ordered_product(grad, value.mT) - along) * ctx.problem.scale
        by_score = torch.where(seen, by_score, 0.0)
        by_query = ordered_product(by_score, key, seen)
        by_key = ordered_product(by_score.mT, query, seen.mT)
        by_value = ordered_product(weights.mT, grad, seen.mT)
        return by_query, by_key, by_value, None


def invariant_attention(
    query: Float[Tensor, "*#batch n_q d"],
    key: Float[Tensor, "*#batch_kv n_kv d"],
    value: Float[Tensor, "*#batch_kv n_kv d_v"],
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """The function of `dot_product_attention`, whose bits depend on a row's own query and keys alone.

    o_i = (sum_j e_ij v_j) / (sum_j e_ij), e_ij = exp(s_ij - max_j s_ij), every sum from the first term to the last.
    Masked keys add +0, which changes no bit; so padding and later causal tokens change none.

    Args: as `dot_product_attention`, without dropout; a mask gets no gradient.
    Returns: out (*batch, H, n_q, d_v) in the query's dtype. Dead rows are 0. What is masked may hold NaN.
    Raises: ValueError as `dot_product_attention`.
    Example:
        >>> x = torch.eye(3)
        >>> torch.equal(invariant_attention(x, x, x)[:1], invariant_attention(x[:1], x, x))
        True

    Source: He et al., "Defeating Nondeterminism in LLM Inference" (2025), of batch-invariant kernels.
    """
    check_shapes(query, key, value, enable_gqa)
    if attn_mask is not None:
        check_mask_fits(attn_mask, query, key, enable_gqa)
    dtype = query.dtype
    if enable_gqa and key.shape[-3] != query.shape[-3]:
        group = query.shape[-3] // key.shape[-3]
        key, value = (_Repeated.apply(x, group) for x in (key, value))  # type: ignore[no-untyped-call]
    problem = prepare(query, key, value, attn_mask, is_causal, scale)
    batch = broadcast(problem.query.shape[:-2], problem.key.shape[:-2], problem.value.shape[:-2]) or ()
    inputs = (x.expand(*batch, *x.shape[-2:]) for x in (problem.query, problem.key, problem.value))
    out: Tensor = _Attention.apply(*inputs, problem)  # type: ignore[no-untyped-call]
    return out.to(dtype)
