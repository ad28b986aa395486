"""Faults of the seed's step functions, by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor


def split_by_view(Q: Tensor, n_heads: int) -> Tensor:
    """A reshape alone mixes tokens and heads."""
    return Q.reshape(Q.shape[0], n_heads, Q.shape[1], -1)


def merged_in_memory(y: Tensor) -> Tensor:
    """A reshape without the transpose."""
    return y.reshape(y.shape[0], y.shape[2], -1)


def keys_with_queries(Q: Tensor, K: Tensor) -> Tensor:
    """K Q^T."""
    return K @ Q.transpose(-2, -1)


def scaled_by_n_embd(A: Tensor, n_embd: int, n_heads: int) -> Tensor:
    """The root of the embedding's size."""
    return A / n_embd**0.5


def softmax_over_tokens(A: Tensor) -> Tensor:
    """Over the queries."""
    return A.softmax(dim=-2)


def softmax_without_its_maximum(A: Tensor) -> Tensor:
    """Exponentials of the scores as they are."""
    weights = A.exp()
    return weights / weights.sum(-1, keepdim=True)


def softmax_less_its_mean(A: Tensor) -> Tensor:
    """The mean in place of the maximum: a row with -inf becomes NaN."""
    weights = (A - A.mean(-1, keepdim=True)).exp()
    return weights / weights.sum(-1, keepdim=True)


def outputs_transposed(A: Tensor, V: Tensor) -> Tensor:
    """A^T V."""
    return A.transpose(-2, -1) @ V


def mask_without_diagonal(n_tok: int) -> Tensor:
    """A token does not see itself."""
    return torch.ones(n_tok, n_tok, dtype=torch.bool).tril(-1)


def mask_of_ones(n_tok: int) -> Tensor:
    """1.0 and 0.0."""
    return torch.ones(n_tok, n_tok).tril()


def masked_with_zeros(mask: Tensor, A: Tensor) -> Tensor:
    """0 in place of -inf."""
    return torch.where(mask, A, 0.0)


FAULTY: Mapping[str, tuple[Callable[..., Tensor], ...]] = {
    "split_heads": (split_by_view,),
    "merge_heads": (merged_in_memory,),
    "pairwise_similarities": (keys_with_queries,),
    "attn_scaled": (scaled_by_n_embd,),
    "attn_softmax": (softmax_over_tokens, softmax_without_its_maximum, softmax_less_its_mean),
    "compute_outputs": (outputs_transposed,),
    "make_causal_mask": (mask_without_diagonal, mask_of_ones),
    "apply_causal_mask": (masked_with_zeros,),
}
