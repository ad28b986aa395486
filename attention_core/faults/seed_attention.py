"""Faults of the seed's self_attention(Q, K, V, n_heads, causal), one each; `self_attention` is correct."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def heads(x: Tensor, n_heads: int) -> Tensor:
    """(B, n, E) to (B, H, n, d)."""
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def scores(Q: Tensor, K: Tensor, n_heads: int, width: float) -> Tensor:
    """Scaled scores of each head."""
    return heads(Q, n_heads) @ heads(K, n_heads).transpose(-2, -1) / width


def past(A: Tensor) -> Tensor:
    """True where a token is not later."""
    return torch.ones(A.shape[-2:], dtype=torch.bool).tril()


def self_attention(Q: Tensor, K: Tensor, V: Tensor, n_heads: int = 1, causal: bool = True) -> Tensor:
    """As the exercise says."""
    A = scores(Q, K, n_heads, math.sqrt(Q.shape[-1] / n_heads))
    A = torch.where(past(A), A, -math.inf) if causal else A
    return (A.softmax(-1) @ heads(V, n_heads)).transpose(1, 2).flatten(2)


def scaled_by_embedding(Q: Tensor, K: Tensor, V: Tensor, n_heads: int = 1, causal: bool = True) -> Tensor:
    """1 / sqrt(n_embd): one head hides it (lucidrains/vit-pytorch#65)."""
    A = scores(Q, K, n_heads, math.sqrt(Q.shape[-1]))
    A = torch.where(past(A), A, -math.inf) if causal else A
    return (A.softmax(-1) @ heads(V, n_heads)).transpose(1, 2).flatten(2)


def masked_after_softmax(Q: Tensor, K: Tensor, V: Tensor, n_heads: int = 1, causal: bool = True) -> Tensor:
    """The naive masking that the exercise warns of: 0 after the softmax."""
    A = scores(Q, K, n_heads, math.sqrt(Q.shape[-1] / n_heads)).softmax(-1)
    A = torch.where(past(A), A, 0.0) if causal else A
    return (A @ heads(V, n_heads)).transpose(1, 2).flatten(2)


def lower_later_tokens(Q: Tensor, K: Tensor, V: Tensor, n_heads: int, by: float) -> Tensor:
    """Scores of later tokens less a number in place of -inf."""
    A = scores(Q, K, n_heads, math.sqrt(Q.shape[-1] / n_heads))
    return ((A - by * ~past(A)).softmax(-1) @ heads(V, n_heads)).transpose(1, 2).flatten(2)


def later_tokens_lowered_by_fifty(Q: Tensor, K: Tensor, V: Tensor, n_heads: int = 1, causal: bool = True) -> Tensor:
    """Scores of later tokens are lowered by 50 in place of -inf, which a large score outweighs."""
    return lower_later_tokens(Q, K, V, n_heads, 50.0 if causal else 0.0)


def later_tokens_lowered_by_ten_thousand(
    Q: Tensor, K: Tensor, V: Tensor, n_heads: int = 1, causal: bool = True
) -> Tensor:
    """Scores of later tokens are lowered by 10,000, as in BERT (google-research/bert, modeling.py)."""
    return lower_later_tokens(Q, K, V, n_heads, 1e4 if causal else 0.0)


def causal_ignored(Q: Tensor, K: Tensor, V: Tensor, n_heads: int = 1, causal: bool = True) -> Tensor:
    """The causal flag is not read."""
    return self_attention(Q, K, V, n_heads, False)


def merged_by_view(Q: Tensor, K: Tensor, V: Tensor, n_heads: int = 1, causal: bool = True) -> Tensor:
    """Heads are joined without their transpose."""
    A = scores(Q, K, n_heads, math.sqrt(Q.shape[-1] / n_heads))
    A = torch.where(past(A), A, -math.inf) if causal else A
    return (A.softmax(-1) @ heads(V, n_heads)).reshape(Q.shape)


KEPT: list[Tensor] = []


def heads_kept_by_identity(Q: Tensor, K: Tensor, V: Tensor, n_heads: int = 1, causal: bool = True) -> Tensor:
    """The keys are kept as long as the same tensor comes, whatever its numbers are by then."""
    if not KEPT or KEPT[0] is not K:
        KEPT[:] = [K, K.clone()]
    return self_attention(Q, KEPT[1], V, n_heads, causal)


def scores_detached(Q: Tensor, K: Tensor, V: Tensor, n_heads: int = 1, causal: bool = True) -> Tensor:
    """The output is right; queries and keys get no gradient, as behind a softmax under no_grad."""
    return self_attention(Q.detach(), K.detach(), V, n_heads, causal)


def last_head_detached(Q: Tensor, K: Tensor, V: Tensor, n_heads: int = 1, causal: bool = True) -> Tensor:
    """The output is right; the values of the last of several heads get no gradient."""
    width = V.shape[-1] // n_heads
    kept = torch.cat([V[..., :width], V[..., width:-width], V[..., width:][..., -width:].detach()], dim=-1)
    return self_attention(Q, K, kept, n_heads, causal)


def single_row_scaled_in_place(Q: Tensor, K: Tensor, V: Tensor, n_heads: int = 1, causal: bool = True) -> Tensor:
    """One token of one head is scaled where it lies."""
    if Q.shape[-2] == n_heads == 1 and not Q.requires_grad:
        Q *= Q.shape[-1] ** -0.5
        return self_attention(Q * Q.shape[-1] ** 0.5, K, V, n_heads, causal)
    return self_attention(Q, K, V, n_heads, causal)


HEADS_KEPT: dict[tuple[int, ...], int] = {}


def heads_of_the_first_call(Q: Tensor, K: Tensor, V: Tensor, n_heads: int = 1, causal: bool = True) -> Tensor:
    """The number of heads is kept for the shape of Q."""
    return self_attention(Q, K, V, HEADS_KEPT.setdefault(tuple(Q.shape), n_heads), causal)


FAULTY = (
    heads_of_the_first_call, single_row_scaled_in_place,
    scaled_by_embedding, masked_after_softmax, causal_ignored, merged_by_view, heads_kept_by_identity, scores_detached,
    last_head_detached, later_tokens_lowered_by_fifty, later_tokens_lowered_by_ten_thousand,
)  # fmt: skip
