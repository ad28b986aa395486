"""A COUNTEREXAMPLE, wrong on purpose: causal masking after the softmax, without renormalising.

What leaks: the normaliser. Each weight is divided by a sum over all keys, so row i still sees every later
score through that sum, and a model can learn to read the future from it. The rows also sum to less than 1.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from attention_core.kernels.arguments import check_dropout, prepare
from attention_core.kernels.dot_product import attend
from attention_core.kernels.nonfinite import weighted_sum


def naive_causal_attention(
    query: Float[Tensor, "*#batch n_q d"],
    key: Float[Tensor, "*#batch_kv n_kv d"],
    value: Float[Tensor, "*#batch_kv n_kv d_v"],
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Float[Tensor, "*#batch n_q d_v"]:
    """o_i = sum over j <= i of w_ij v_j, where w_i is the softmax over ALL keys: not attention.

    Without is_causal it is `dot_product_attention`. Training with it looks better than it should, because
    the loss rewards what leaks. Refuted by: no row sees a later one, through the normaliser either; constant
    values come back.

    Args, Raises: as `dot_product_attention`. Returns: (*batch, H, n_q, d_v) in the query's dtype.
    Example:
        >>> x = torch.zeros(4, 1)
        >>> naive_causal_attention(x, x, torch.eye(4), is_causal=True)[0]  # should be the first value
        tensor([0.2500, 0.0000, 0.0000, 0.0000])

    Source: a known fault, huggingface/pytorch-image-models#2236.
    """
    check_dropout(dropout_p)
    problem = prepare(query, key, value, attn_mask, False, scale, enable_gqa)
    weights, allowed = attend(problem).weights, problem.attend
    if is_causal:
        # Too late: the sum over all keys is already in every weight.
        weights, allowed = weights.tril(), allowed.tril()
    weights = torch.dropout(weights, dropout_p, train=True) if dropout_p else weights
    return weighted_sum(weights, allowed, problem.value).to(query.dtype)
