"""Attention without a matrix of scores: the Attention Free Transformer, and random features of the softmax kernel."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

Heads = Float[Tensor, "B H n d"]


class AttentionFree(nn.Module):
    """o_t = sigmoid(q_t) * sum_{s <= t} exp(k_s + w_ts) v_s / sum_{s <= t} exp(k_s + w_ts), feature by feature.

    No query meets a key: the weights of a feature depend on the key and on the two places.

    Args:
        block: the longest sequence; None leaves the w out ("AFT-simple"), and the cost is n d.
    Source: Zhai et al., "An Attention Free Transformer" (2021), equations 2 and 5, made causal. exp(k) is divided by
        its largest value over the sequence, which cancels.
    """

    matrices = ("weight",)  # what weight decay applies to

    def __init__(self, block: int | None = None) -> None:
        super().__init__()
        self.weight = None if block is None else nn.Parameter(torch.zeros(block, block))

    def forward(self, query: Heads, key: Heads, value: Heads) -> Heads:
        """Mix the values."""
        e = (key - key.amax(dim=-2, keepdim=True).detach()).exp()
        if self.weight is None:
            above, below = (e * value).cumsum(-2), e.cumsum(-2)
        else:
            n = key.shape[-2]
            share = self.weight[:n, :n].exp().tril()
            above, below = share @ (e * value), share @ e
        return torch.sigmoid(query) * above / below.clamp_min(torch.finfo(below.dtype).tiny)


class RandomFeatures(nn.Module):
    """o_i = sum_{j <= i} phi(q_i) . phi(k_j) v_j / sum_{j <= i} phi(q_i) . phi(k_j).

    phi(x)_r = exp(w_r . x - |x|^2 / 2), and E[phi(q)_r phi(k)_r] = exp(q . k) for w_r ~ N(0, I). Queries and keys are
    divided by d^(1/4) first. Sums over the keys so far are carried from chunk to chunk: the cost is n m d, not n^2 d.

    Args:
        d: size of a head.
        count: m, random features; they are drawn once.
        chunk: queries that are computed together.
    Source: Choromanski et al., "Rethinking Attention with Performers" (2021), lemma 1; derivations/random_features.md.
    """

    def __init__(self, d: int, count: int, chunk: int = 64) -> None:
        super().__init__()
        self.chunk = chunk
        self.directions: Tensor
        self.register_buffer("directions", torch.randn(count, d))

    def features(self, x: Float[Tensor, "B H n d"]) -> Float[Tensor, "B H n m"]:
        """Return log phi, without the largest value that rows or all keys share: it cancels."""
        x = x / x.shape[-1] ** 0.25
        return x @ self.directions.to(x.dtype).T - x.square().sum(-1, keepdim=True) / 2

    def forward(self, query: Heads, key: Heads, value: Heads) -> Heads:
        """Mix the values."""
        log_q, log_k = self.features(query), self.features(key)
        q = (log_q - log_q.amax(-1, keepdim=True).detach()).exp()
        k = (log_k - log_k.amax((-2, -1), keepdim=True).detach()).exp()
        ones = torch.ones_like(value[..., :1])
        values = torch.cat([value, ones], -1)  # the last column sums the weights
        state = torch.zeros(*k.shape[:-2], k.shape[-1], values.shape[-1], dtype=k.dtype)
        parts = []
        for start in range(0, key.shape[-2], self.chunk):
            rows = slice(start, start + self.chunk)
            q_c, k_c, v_c = q[..., rows, :], k[..., rows, :], values[..., rows, :]
            parts.append(q_c @ state + (q_c @ k_c.transpose(-2, -1)).tril() @ v_c)
            state = state + k_c.transpose(-2, -1) @ v_c
        out = torch.cat(parts, -2)
        # A sum may vanish below the smallest number of the dtype; it must not divide.
        return out[..., :-1] / out[..., -1:].clamp_min(math.sqrt(torch.finfo(out.dtype).tiny))
