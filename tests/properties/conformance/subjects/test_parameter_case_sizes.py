"""Faults that begin at sizes as models have them are refuted at quick, in contracts whose cases are mostly small."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from attention_core.conformance import Implementation, check_implementation
from attention_core.conformance.subjects.parameter_case import as_in_models


class WideHeads(nn.Module):
    """Scales by the features where a head is wider than 32."""

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("heads do not divide")
        self.H = num_heads
        self.qkv, self.out = nn.Linear(embed_dim, 3 * embed_dim), nn.Linear(embed_dim, embed_dim)

    def forward(self, x: Tensor) -> Tensor:
        B, n, E = x.shape
        q, k, v = (t.view(B, n, self.H, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        return self.merge(self.scores(q, k).softmax(-1) @ v, B, n, E)

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        d = q.shape[-1]
        return q @ k.mT * (d if d <= 32 else self.H * d) ** -0.5

    def merge(self, heads: Tensor, B: int, n: int, E: int) -> Tensor:
        return self.out(heads.transpose(1, 2).reshape(B, n, E))


class ManyTexts(WideHeads):
    """Merges heads without their transposition beyond four texts."""

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return q @ k.mT * q.shape[-1] ** -0.5

    def merge(self, heads: Tensor, B: int, n: int, E: int) -> Tensor:
        return super().merge(heads, B, n, E) if B <= 4 else self.out(heads.reshape(B, n, E))


class CausalBeyondForty(ManyTexts):
    """Becomes causal beyond 40 tokens."""

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        scores, n = super().scores(q, k), q.shape[-2]
        later = torch.ones(n, n, dtype=torch.bool).triu(1)
        return scores.masked_fill(later, -torch.inf) if n > 40 else scores

    def merge(self, heads: Tensor, B: int, n: int, E: int) -> Tensor:
        return WideHeads.merge(self, heads, B, n, E)


def rotate_64(x: Tensor, positions: Tensor) -> Tensor:
    """Leaves the frequencies from the 32nd on as they are."""
    half = x.shape[-1] // 2
    angle = positions[:, None] * 10000.0 ** (-torch.arange(half) / half)
    angle = torch.where(torch.arange(half) < 32, angle, torch.zeros(()))
    a, b, cos, sin = x[..., :half].float(), x[..., half:].float(), angle.cos(), angle.sin()
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1).to(x.dtype)


def table_64(n: int, d: int) -> Tensor:
    """Spaces its frequencies over d - 2 beyond 64 features."""
    over = d if d <= 64 else d - 2
    angle = torch.arange(n)[:, None] * 10000.0 ** (-torch.arange(0, d, 2) / over)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)[:, :d]


def sorted_slopes(H: int, n_q: int, n_kv: int) -> Tensor:
    """Sorts its slopes beyond 16 heads."""
    power = 1 << (H.bit_length() - 1)
    slopes = [2 ** (-8 * (h + 1) / power) for h in range(power)]
    slopes += [2 ** (-4 * (h + 1) / power) for h in range(0, 2 * power, 2)][: H - power]
    slopes = sorted(slopes, reverse=True) if H > 16 else slopes
    behind = torch.arange(n_kv - n_q, n_kv)[:, None] - torch.arange(n_kv)
    return -torch.tensor(slopes)[:, None, None] * behind


def seed_isqrt(Q: Tensor, K: Tensor, V: Tensor, n_heads: int = 1, causal: bool = True) -> Tensor:
    """Takes the whole root of a head size above 16."""
    q, k, v = (t.unflatten(-1, (n_heads, -1)).transpose(1, 2) for t in (Q, K, V))
    d, n = q.shape[-1], q.shape[-2]
    scores = q @ k.mT / (math.isqrt(d) if d > 16 else math.sqrt(d))
    if causal:
        scores = scores.masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), -torch.inf)
    return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)


def seed_triangle(Q: Tensor, K: Tensor, V: Tensor, n_heads: int = 1, causal: bool = True) -> Tensor:
    """Has a triangle of 64 tokens."""
    q, k, v = (t.unflatten(-1, (n_heads, -1)).transpose(1, 2) for t in (Q, K, V))
    scores, n = q @ k.mT / math.sqrt(q.shape[-1]), q.shape[-2]
    if causal:
        later = torch.zeros(n, n, dtype=torch.bool)
        later[:64, :64] = torch.ones(64, 64, dtype=torch.bool).triu(1)[:n, :n]
        scores = scores.masked_fill(later, -torch.inf)
    return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)


LOW = {"dtypes": ("float32", "bfloat16", "float16")}


@pytest.mark.thorough(leave_out=("CausalBeyondForty-*", "ManyTexts-*"))
@pytest.mark.parametrize(
    ("target", "record"),
    [
        (WideHeads, {"contract": "multi-head"}),
        (ManyTexts, {"contract": "multi-head"}),
        (CausalBeyondForty, {"contract": "multi-head"}),
        (rotate_64, {"contract": "rotary", **LOW}),
        (table_64, {"contract": "position-table"}),
        (sorted_slopes, {"contract": "bias"}),
        (seed_isqrt, {"contract": "self-attention"}),
        (seed_triangle, {"contract": "self-attention"}),
    ],
)
@pytest.mark.usefixtures("unshrunk")
def test_refutes_what_starts_at_sizes_of_models(target: Any, record: dict[str, Any]) -> None:
    assert check_implementation(Implementation(target, **record), effort="quick").verdict == "refuted"


def test_a_share_of_the_cases_has_all_sizes_at_once() -> None:
    draw, rng = as_in_models({"d": (65, 128), "n": (70, 70)}), np.random.default_rng(0)
    drawn = [draw({"B": 1, "n": 2, "d": 3}, rng) for _ in range(400)]
    large = [sizes for sizes in drawn if sizes["d"] > 64]
    assert all(sizes["n"] == 70 and sizes["B"] == 1 for sizes in large)
    assert {"B": 1, "n": 2, "d": 3} in drawn
    assert 60 <= len(large) <= 140  # of 400 at a share of a quarter: beyond 4.6 standard deviations, 1 in 200,000
