"""What is timed: right code as people write it, and the same with a common mistake."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def plain(query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False) -> Tensor:
    """README's function with its mask before the softmax."""
    scores = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
    if is_causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), -torch.inf)
    return torch.softmax(scores, -1) @ value


def plain_masked_late(query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False) -> Tensor:
    """README's function as it stands there."""
    scores = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
    weights = torch.softmax(scores, -1)
    if is_causal:
        weights = weights.tril()
    return weights @ value


def whole(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """Every parameter that the contract knows."""
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    if enable_gqa:
        group = query.shape[-3] // key.shape[-3]
        key, value = key.repeat_interleave(group, -3), value.repeat_interleave(group, -3)
    scores = query @ key.transpose(-1, -2) * scale
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -torch.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
    if is_causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), -torch.inf)
    dead = (scores == -torch.inf).all(-1, keepdim=True)
    weights = torch.softmax(scores.masked_fill(dead, 0.0), -1).masked_fill(dead, 0.0)
    return torch.dropout(weights, dropout_p, True) @ value


def whole_scaled_by_values(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """The scale is that of the value's head size."""
    scale = value.shape[-1] ** -0.5 if scale is None else scale
    return whole(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)


def whole_nan_in_dead_rows(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """Another convention than the declared one: found, and judged under it in the same run."""
    out = whole(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    if attn_mask is None:
        return out
    shown = attn_mask if attn_mask.dtype == torch.bool else attn_mask != -torch.inf
    if is_causal:
        shown = shown & torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool).tril()
    return out.masked_fill(~shown.any(-1, keepdim=True), torch.nan)


class MultiHead(nn.Module):
    """The module of docs/contracts.md."""

    late = False

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.H = num_heads
        self.qkv, self.out = nn.Linear(embed_dim, 3 * embed_dim), nn.Linear(embed_dim, embed_dim)

    def forward(self, x: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False) -> Tensor:
        B, n, E = x.shape
        q, k, v = (t.view(B, n, self.H, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        scores = q @ k.transpose(-1, -2) * (E // self.H) ** -0.5
        if attn_mask is not None:
            scores = scores.masked_fill(~attn_mask, -torch.inf)
        if is_causal:
            scores = scores.masked_fill(torch.ones(n, n, dtype=torch.bool).triu(0 if self.late else 1), -torch.inf)
        return torch.as_tensor(self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(B, n, E)))


class MultiHeadBlind(MultiHead):
    """No token sees itself."""

    late = True


class Cache:
    """The cache of docs/contracts.md."""

    shift = 0

    def __init__(self) -> None:
        self.k: Tensor | None = None
        self.v: Tensor | None = None

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        self.k = key.clone() if self.k is None else torch.cat([self.k, key], -2)
        self.v = value.clone() if self.v is None else torch.cat([self.v, value], -2)
        n_q, n_kv = query.shape[-2], self.k.shape[-2]
        allowed = torch.ones(n_q, n_kv, dtype=torch.bool).tril(n_kv - n_q + self.shift)
        scores = query @ self.k.transpose(-1, -2) * query.shape[-1] ** -0.5
        return scores.masked_fill(~allowed, -torch.inf).softmax(-1) @ self.v


class CacheSeesOneAhead(Cache):
    """Its diagonal is one too far on."""

    shift = 1
