"""Dot-product attention in small steps: scores -> mask -> weights -> output.

Also its relatives that differ in one step: unscaled, with a temperature, and hard (argmax) attention.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, overload

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attention_core.kernels.arguments import Problem, check_dropout, prepare
from attention_core.kernels.nonfinite import pairwise_products, weighted_sum


class Attended(NamedTuple):
    """What attention computes, in the dtype of the computation."""

    out: Float[Tensor, "*#batch n_q d_v"]
    weights: Float[Tensor, "*#batch n_q n_kv"]  # before dropout
    lse: Float[Tensor, "*batch n_q"]  # natural log of sum_j exp(s_ij); -inf for a dead row


def masked_scores(problem: Problem) -> Float[Tensor, "*#batch n_q n_kv"]:
    """s_ij = scale q_i . k_j + b_ij where (i, j) is attended, -inf elsewhere.

    Example:
        >>> x = torch.ones(2, 1)
        >>> masked_scores(prepare(x, x, x, is_causal=True)).tolist()
        [[1.0, -inf], [1.0, 1.0]]
    """
    scores = pairwise_products(problem.query, problem.key) * problem.scale
    if problem.bias is not None:
        scores = scores + problem.bias
    # `where` and not `+ (-inf)`: NaN - inf is NaN, and the gradient must stop here.
    return torch.where(problem.attend, scores, -torch.inf)


def without_dead_rows(
    scores: Float[Tensor, "*#batch n_q n_kv"], attend: Bool[Tensor, "*mask n_q n_kv"]
) -> Float[Tensor, "*#batch n_q n_kv"]:
    """The scores with 0 in rows that have no key left, where softmax would be 0/0.

    A later `where` would hide the NaN from results and gradients, but not from torch's anomaly detection.
    """
    return torch.where(attend.any(-1, keepdim=True), scores, 0.0)


def softmax_weights(
    scores: Float[Tensor, "*#batch n_q n_kv"], attend: Bool[Tensor, "*mask n_q n_kv"]
) -> Float[Tensor, "*#batch n_q n_kv"]:
    """w_ij = exp(s_ij) / sum_j exp(s_ij) over the attended j; exactly 0 where masked, also in dead rows."""
    weights = torch.softmax(without_dead_rows(scores, attend), dim=-1)
    return torch.where(attend, weights, 0.0)


def log_sum_exp(
    scores: Float[Tensor, "*#batch n_q n_kv"], attend: Bool[Tensor, "*mask n_q n_kv"]
) -> Float[Tensor, "*batch n_q"]:
    """log sum_j exp(s_ij) over the attended j; -inf with a zero gradient for a dead row."""
    lse = torch.logsumexp(without_dead_rows(scores, attend), dim=-1)
    return torch.where(attend.any(-1), lse, -torch.inf)


def attend(problem: Problem, dropout_p: float = 0.0) -> Attended:
    """All the steps on a checked problem: output, weights and log-sum-exp.

    Example:
        >>> x = torch.ones(2, 1)
        >>> attend(prepare(x, x, x)).weights.tolist()
        [[0.5, 0.5], [0.5, 0.5]]
    """
    scores = masked_scores(problem)
    weights = softmax_weights(scores, problem.attend)
    kept = torch.dropout(weights, dropout_p, train=True) if dropout_p else weights
    out = weighted_sum(kept, problem.attend, problem.value)
    return Attended(out, weights, log_sum_exp(scores, problem.attend))


# fmt: off
@overload
def dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False, *,
    return_weights: Literal[False] = False, return_lse: Literal[False] = False,
) -> Tensor: ...
@overload
def dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False, *,
    return_weights: bool = False, return_lse: bool = False,
) -> Tensor | tuple[Tensor, ...]: ...
# fmt: on
def dot_product_attention(
    query: Float[Tensor, "*#batch n_q d"],
    key: Float[Tensor, "*#batch_kv n_kv d"],
    value: Float[Tensor, "*#batch_kv n_kv d_v"],
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    return_weights: bool = False,
    return_lse: bool = False,
) -> Tensor | tuple[Tensor, ...]:
    """Scaled dot-product attention: o_i = sum_j w_ij v_j, w_i = softmax_j(scale q_i . k_j + b_ij).

    Args: query (*batch, H, n_q, d), key (*batch, H_kv, n_kv, d), value (*batch, H_kv, n_kv, d_v), one dtype;
        attn_mask, broadcasts to (*batch, H, n_q, n_kv): bool, True = attend, or float, added to the scaled
        scores (-inf forbids); is_causal: j <= i (top-left), together with the mask where both are given;
        scale, None = 1/sqrt(d); dropout_p, probability of dropping a weight; enable_gqa: H_kv may divide H.
    Returns: out (*batch, H, n_q, d_v) in the query's dtype; with return_weights also the weights before
        dropout, with return_lse also the log-sum-exp (*batch, H, n_q), natural log, at least float32.
        A row without a key left is 0 (lse -inf) with zero gradients. What is masked may hold NaN.
    Raises: ValueError where head sizes, lengths, numbers of heads or the mask contradict each other.
    Example:
        >>> dot_product_attention(torch.ones(1, 2), torch.ones(4, 2), torch.eye(4))
        tensor([[0.2500, 0.2500, 0.2500, 0.2500]])

    Source: Vaswani et al., "Attention Is All You Need" (2017), eq. 1; the signature is torch's.
    """
    check_dropout(dropout_p)
    problem = prepare(query, key, value, attn_mask, is_causal, scale, enable_gqa)
    out, weights, lse = attend(problem, dropout_p)
    results: tuple[Tensor, ...] = (out.to(query.dtype),)
    results += (weights.to(query.dtype),) if return_weights else ()
    results += (lse,) if return_lse else ()
    return results if return_weights or return_lse else results[0]


def attention_weights(
    query: Float[Tensor, "*#batch n_q d"],
    key: Float[Tensor, "*#batch n_kv d"],
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
) -> Float[Tensor, "*#batch n_q n_kv"]:
    """The weights alone: w_i = softmax_j(scale q_i . k_j + b_ij); rows sum to 1, dead rows to 0.

    Args, Raises: as `dot_product_attention`. Returns: (*batch, H, n_q, n_kv) in the query's dtype.
    Example:
        >>> attention_weights(torch.zeros(1, 2), torch.ones(4, 2))
        tensor([[0.2500, 0.2500, 0.2500, 0.2500]])

    Source: Vaswani et al. (2017), eq. 1, without the product with V.
    """
    problem = prepare(query, key, key[..., :0], attn_mask, is_causal, scale)
    return softmax_weights(masked_scores(problem), problem.attend).to(query.dtype)


def unscaled_attention(
    query: Float[Tensor, "*#batch n_q d"],
    key: Float[Tensor, "*#batch n_kv d"],
    value: Float[Tensor, "*#batch n_kv d_v"],
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
) -> Float[Tensor, "*#batch n_q d_v"]:
    """Attention without the factor 1/sqrt(d): w_i = softmax_j(q_i . k_j + b_ij).

    With it, a long query selects: q = S k_j has scores S k_j . k, and picks v_j as S grows where k_j is unit.

    Args, Returns, Raises: as `dot_product_attention`.
    Example:
        >>> q, k, v = torch.eye(3), torch.eye(3), torch.eye(3)
        >>> torch.equal(unscaled_attention(q, k, v), dot_product_attention(q, k, v, scale=1.0))
        True

    Source: Luong et al., "Effective Approaches to Attention-based NMT" (2015), eq. 8, score "dot".
    """
    return dot_product_attention(query, key, value, attn_mask, is_causal=is_causal, scale=1.0)


def temperature_attention(
    query: Float[Tensor, "*#batch n_q d"],
    key: Float[Tensor, "*#batch n_kv d"],
    value: Float[Tensor, "*#batch n_kv d_v"],
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    *,
    temperature: float = 1.0,
) -> Float[Tensor, "*#batch n_q d_v"]:
    """Attention at a temperature T: w_i = softmax_j(q_i . k_j / (T sqrt(d)) + b_ij).

    T -> 0 approaches `argmax_attention`, T -> infinity the mean of what is attended. The bias is not divided:
    masks and positional biases keep their meaning.

    Args: temperature, positive, in units of the scaled scores; the rest, Returns, Raises: as
        `dot_product_attention`, and ValueError where T is not positive.
    Example:
        >>> x = torch.eye(4)
        >>> torch.equal(temperature_attention(x, x, x, temperature=1.0), dot_product_attention(x, x, x))
        True

    Source: Hinton et al., "Distilling the Knowledge in a Neural Network" (2015), eq. 1.
    """
    if not temperature > 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    scale = 1.0 / (temperature * math.sqrt(max(query.shape[-1], 1)))
    return dot_product_attention(query, key, value, attn_mask, is_causal=is_causal, scale=scale)


def argmax_attention(
    query: Float[Tensor, "*#batch n_q d"],
    key: Float[Tensor, "*#batch n_kv d"],
    value: Float[Tensor, "*#batch n_kv d_v"],
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
) -> Float[Tensor, "*#batch n_q d_v"]:
    """Hard attention: o_i = mean of v_j over the j with the largest score; ties share equally.

    Query and key receive no gradient. Wherever the largest score is unique, a small change of q or k moves no
    weight, so the derivative is 0; at a tie the weights jump and have none. Training cannot learn whom to
    attend, only, through the values, what is found there.

    Args, Returns, Raises: as `dot_product_attention`. Equality of scores is that of the computed numbers.
    Example:
        >>> argmax_attention(torch.tensor([[1.0, 2.0]]), torch.eye(2), torch.tensor([[10.0], [20.0]]))
        tensor([[20.]])

    Source: Xu et al., "Show, Attend and Tell" (2015), section 4.1, the largest weight in place of a sample.
    """
    problem = prepare(query, key, value, attn_mask, is_causal, scale)
    with torch.no_grad():
        scores = masked_scores(problem)
        largest = scores.amax(-1, keepdim=True) if scores.shape[-1] else scores  # amax refuses n_kv = 0
        # NaN equals nothing, so a row with a NaN would have no winner and pass for a dead one.
        winners = problem.attend & ((scores == largest) | largest.isnan())
        weights = winners.to(scores.dtype) / winners.sum(-1, keepdim=True).clamp(min=1)
        weights = torch.where(winners & largest.isnan(), torch.nan, weights)
    # What lost is left out like what is masked: its value may be anything.
    return weighted_sum(weights, winners, problem.value).to(query.dtype)
