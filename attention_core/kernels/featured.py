"""Attention with a window, a soft cap and sinks: the steps of the definition, with theirs between."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attention_core.kernels.arguments import Problem, prepare
from attention_core.kernels.dot_product import softmax_weights, without_dead_rows
from attention_core.kernels.nonfinite import pairwise_products, weighted_sum
from attention_core.masking import window as sides


def featured_attention(
    query: Float[Tensor, "*#batch n_q d"],
    key: Float[Tensor, "*#batch_kv n_kv d"],
    value: Float[Tensor, "*#batch_kv n_kv d_v"],
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    window: tuple[int, int] | None = None,
    softcap: float | None = None,
    sinks: Float[Tensor, " H"] | None = None,
) -> Float[Tensor, "*#batch n_q d_v"]:
    """Scaled dot-product attention with features: w_ij = e^s_ij / (e^z_h + sum_j e^s_ij), o_i = sum_j w_ij v_j.

    s_ij = c tanh(scale q_i . k_j / c) + b_ij over the keys j of mask, causality and window.

    Args: query, key, value, attn_mask, is_causal, scale, enable_gqa as in `dot_product_attention`; window, (left,
        right): query i sees the keys from i - left to i + right, -1 for any number; softcap, c > 0; sinks, z, one
        score for each of the H heads.
    Returns: (*batch, H, n_q, d_v) in the query's dtype; a row without a key left is 0.
    Raises: ValueError where arguments contradict each other, for a cap that is not above 0, and for sinks of another
        number than H.
    Example:
        >>> x = torch.zeros(1, 2, 1)
        >>> featured_attention(x, x, torch.ones(1, 2, 1), sinks=torch.zeros(1)).flatten()
        tensor([0.6667, 0.6667])

    Source: OpenAI, gpt-oss (sinks, 2025); Gemma Team, "Gemma 2" (2024), section 2 (soft cap); Beltagy et al. (2020).
    """
    problem = prepare(query, key, value, attn_mask, is_causal, scale, enable_gqa)
    if window is not None:
        seen = sides(*window).dense(query.shape[-2], key.shape[-2], query.device)
        problem = problem._replace(attend=problem.attend & seen)
    if sinks is not None:
        check_sinks(sinks, query)
    return attend_with_features(problem, softcap, sinks).to(query.dtype)


def attend_with_features(
    problem: Problem, softcap: float | None, sinks: Float[Tensor, " H"] | None
) -> Float[Tensor, "*#batch n_q d_v"]:
    """The output of a checked problem with a cap and sinks, in the dtype of the computation."""
    scores = capped_scores(problem, softcap)
    if sinks is None:
        weights = softmax_weights(scores, problem.attend)
    else:
        weights = sink_weights(scores, problem.attend, sinks)
    return weighted_sum(weights, problem.attend, problem.value)


def capped_scores(problem: Problem, softcap: float | None) -> Float[Tensor, "*#batch n_q n_kv"]:
    """s_ij = c tanh(scale q_i . k_j / c) + b_ij where (i, j) is attended, -inf elsewhere.

    Raises: ValueError for a cap that is not above 0.
    """
    scores = pairwise_products(problem.query, problem.key) * problem.scale
    if softcap is not None:
        if not softcap > 0:
            raise ValueError(f"softcap must be above 0, got {softcap}; leave it out, or None, for none")
        # masked pairs first: the slope of the cap at a NaN would reach the gradient of the query
        scores = softcap * torch.tanh(torch.where(problem.attend, scores, 0.0) / softcap)
    if problem.bias is not None:
        scores = scores + problem.bias
    return torch.where(problem.attend, scores, -torch.inf)


def sink_weights(
    scores: Float[Tensor, "*batch H n_q n_kv"], attend: Bool[Tensor, "*mask n_q n_kv"], sinks: Float[Tensor, " H"]
) -> Float[Tensor, "*batch H n_q n_kv"]:
    """w_ij = exp(s_ij) / (exp(z_h) + sum_j exp(s_ij)) over the attended j; exactly 0 where masked."""
    column = sinks.to(scores.dtype)[:, None, None].expand(*scores.shape[:-1], 1)
    both = torch.cat([without_dead_rows(scores, attend), column], dim=-1)
    return torch.where(attend, torch.softmax(both, dim=-1)[..., :-1], 0.0)


def check_sinks(sinks: Tensor, query: Tensor) -> None:
    """Raise ValueError unless there is one sink for each head."""
    if query.ndim < 3 or sinks.shape != query.shape[-3:-2]:
        heads = query.shape[-3] if query.ndim >= 3 else "no axis of"
        raise ValueError(
            f"sinks are one number for each head (H,): got {tuple(sinks.shape)}, and query has {heads} heads"
        )
