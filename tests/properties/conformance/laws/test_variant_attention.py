"""Power and false alarms of the laws of sigmoid and differential attention."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from judging_contracts import power_tests
from torch import Tensor

from attention_core.conformance.laws import variant_attention
from attention_core.faults import variant_attention as faults
from attention_core.kernels.variants import differential_attention, sigmoid_attention

WIDE: dict[str, Any] = {"accumulate": "float32"}
FLOAT: dict[str, Any] = {**WIDE, "dtypes": ("float32",)}
SHARED, NORM = "query_heads_share_key_heads", "the_output_of_a_head_is_normalised"
GRADIENTS, LEARNED = "gradients_of_variants_are_true", "learned_numbers_have_their_gradients"
SEEN_BY = {  # what no law but these is sure to see
    "bias_of_the_number_of_queries": "the_bias_is_added_to_every_score",
    "given_bias_of_zero_taken_for_none": "the_bias_is_added_to_every_score",
    "bias_left_out": "the_bias_is_added_to_every_score",
    "bias_of_the_other_sign": "the_bias_is_added_to_every_score",
    "masked_scores_are_zero": "hidden_pairs_have_no_weight",
    "exponential_of_large_scores": "scores_of_hundreds_give_numbers",
    "maximum_of_both_maps": "scores_of_hundreds_give_numbers",
    "keys_behind_the_first_block_left_out": "keys_of_long_rows_all_count",
    "scale_taken_for_none_where_it_is_zero": "a_scale_that_is_given_scales_every_map",
    "queries_read_in_order": "strides_of_both_maps_are_followed",
    "difference_is_normalised_again": "the_second_map_is_weighed_by_lambda",
    "second_map_sees_later_keys": "later_keys_have_no_weight",
    "second_map_sees_masked_keys": "hidden_pairs_have_no_weight",
    "rows_without_a_key_are_nan": "rows_without_a_key_give_zero",
    "key_heads_are_taken_in_turn": SHARED,
    "first_key_head_for_all": SHARED,
    "norm_over_all_heads": NORM,
    "mean_is_subtracted": NORM,
    "epsilon_beside_the_root": NORM,
    "slope_of_the_softmax": GRADIENTS,
    "slope_without_the_complement": GRADIENTS,
    "query_gradient_without_the_scale": GRADIENTS,
    "key_gradient_of_the_first_head_of_a_group": GRADIENTS,
    "second_query_gradient_without_lambda": GRADIENTS,
    "gradient_of_lambda_of_the_other_sign": LEARNED,
    "gradient_of_lambda_dropped": LEARNED,
    "gradient_of_the_bias_dropped": LEARNED,
    "gradient_of_the_bias_halved": LEARNED,
    "gradient_of_the_norm_without_its_projection": GRADIENTS,
    "gradient_of_the_norm_without_epsilon": GRADIENTS,
    "gradient_of_the_norm_without_the_factor": GRADIENTS,
    "gradient_of_the_norm_weight_over_one_head": GRADIENTS,
    "gradient_of_the_norm_weight_over_features": GRADIENTS,
}


def by_tanh(q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
    """Sigmoid attention by a hyperbolic tangent, key by key, tokens before heads."""
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    out = torch.zeros(*q.shape[:3], v.shape[-1], dtype=q.dtype)
    for j in range(k.shape[2]):
        score = (q * k[:, :, j : j + 1]).sum(-1, keepdim=True) / math.sqrt(q.shape[-1]) - math.log(k.shape[2])
        weight = 0.5 + 0.5 * torch.tanh(score / 2)
        if causal:
            weight = weight * (torch.arange(q.shape[2]) >= j)[:, None]
        out = out + weight * v[:, :, j : j + 1]
    return out.transpose(1, 2)


def multihead_diffattn(q: Tensor, k: Tensor, v: Tensor, lambda_full: float) -> Tensor:
    """The form of the authors' code: both maps in neighbouring heads, weights subtracted before the values."""
    weights = (q @ k.mT * q.shape[-1] ** -0.5).softmax(-1)
    weights = weights.view(len(q), -1, 2, *weights.shape[2:])
    return (weights[:, :, 0] - lambda_full * weights[:, :, 1]) @ v


def in_numpy(query: Any, key: Any, value: Any, attn_mask: Any = None, bias: float | None = None) -> Any:
    """Sigmoid attention in NumPy, additive masks."""
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.dtype.type(query.shape[-1]))
    scores = scores - scores.dtype.type(np.log(key.shape[2]) if bias is None else -bias)
    scores = scores if attn_mask is None else scores + attn_mask.astype(scores.dtype)
    with np.errstate(over="ignore"):
        return (1 / (1 + np.exp(-scores)) @ value).astype(query.dtype)


def layer_normed(q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
    """Sigmoid attention whose heads pass a layer norm of torch, in the order of heads that share in turn."""
    out = sigmoid_attention(q, k.repeat(1, q.shape[1] // k.shape[1], 1, 1), v.repeat(1, q.shape[1] // v.shape[1], 1, 1),
                            is_causal=causal)  # fmt: skip
    return torch.nn.functional.layer_norm(out, out.shape[-1:], eps=1e-3)


def group_normed(q1: Tensor, k1: Tensor, q2: Tensor, k2: Tensor, v: Tensor, lam: float) -> Tensor:
    """Differential attention whose heads pass a norm by root mean square of torch, scaled by 1 - 0.8."""
    out = differential_attention(q1, k1, q2, k2, v, lam)
    return 0.2 * torch.nn.functional.rms_norm(out, out.shape[-1:], eps=1e-5)


def stored_and_normed(
    q1: Tensor, k1: Tensor, q2: Tensor, k2: Tensor, v: Tensor, lam: float | Tensor, norm_weight: Tensor,
    eps: float = 1e-5, lambda_init: float = 0.2,
) -> Tensor:  # fmt: skip
    """Differential attention whose heads are stored in the inputs' dtype before the norm, and after it."""
    out = faults.differential()(q1, k1, q2, k2, v, lam)
    wide = out.to(torch.promote_types(out.dtype, torch.float32))
    wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
    return wide.to(q1.dtype) * norm_weight * (1 - lambda_init)


def weights_from_the_lse(q: Tensor, k: Tensor, v: Tensor, lam: float) -> Tensor:
    """Differential attention by exp(s - lse), which nothing divides by its sum."""
    wide = torch.promote_types(q.dtype, torch.float32)
    heads = q.shape[1] // k.shape[1]
    q, k = (x.to(wide).unflatten(1, (-1, 2)) for x in (q, k))
    k, v = k.repeat_interleave(heads, 1), v.repeat_interleave(heads, 1)
    scores = q @ k.mT * q.shape[-1] ** -0.5
    one, two = (scores - scores.logsumexp(-1, keepdim=True)).exp().unbind(2)
    return ((one - lam * two) @ v.to(wide)).to(v.dtype)


def number_alone(q: Tensor, k: Tensor, v: Tensor, bias: float = 0.0) -> Tensor:
    """Sigmoid attention whose bias is a number, by default 0."""
    return sigmoid_attention(q, k, v, bias=float(bias))


RIGHT: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "ours, sigmoid": (sigmoid_attention, WIDE),
    "ours, differential": (differential_attention, WIDE),
    "sigmoid": (faults.sigmoid(), WIDE),
    "differential": (faults.differential(), FLOAT),
    "joined": (faults.joined(), FLOAT),
    "normed": (faults.normed(), WIDE),
    "layer norm": (layer_normed, {**FLOAT, "grouping": "modular", "parameters": {"norm": "layer", "eps": 1e-3}}),
    "group norm": (group_normed, {**FLOAT, "parameters": {"norm": "rms", "lambda_init": 0.8}}),
    "stored and normed": (stored_and_normed, WIDE),
    "from the lse": (weights_from_the_lse, {**FLOAT, "merges": "lse"}),
    "a number": (number_alone, FLOAT),
    "tanh": (by_tanh, {"dtypes": ("float32",), "layout": "bnhd"}),
    "authors": (multihead_diffattn, {"dtypes": ("float32", "float64")}),
    "numpy": (in_numpy, {"array": "numpy", "masks": "additive", "dtypes": ("float32", "float64")}),
}


(
    test_every_law_refutes_the_fault_it_names,
    test_every_fault_is_refuted,
    test_right_functions_conform,
) = power_tests(variant_attention, faults, RIGHT, SEEN_BY, **WIDE)
