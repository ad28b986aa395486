"""Score functions in float64: the plain formula for each pair, gradients against finite differences."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from finetune.experiments.scores import SCORES, Additive, Bilinear, Cosine

B, H, n, m, d = 2, 3, 4, 5, 6


def draw(seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(B, H, n, d, generator=generator, dtype=torch.float64)
    return query, torch.randn(B, H, m, d, generator=generator, dtype=torch.float64)


def plain(name: str, score: torch.nn.Module, q: list[float], k: list[float], h: int) -> float:
    """One score by loops over the features of one query and one key."""
    dot = sum(a * b for a, b in zip(q, k, strict=True))
    if name == "scaled dot":
        return dot / math.sqrt(d)
    if name == "plain dot":
        return dot
    if name == "squared distance":
        return -sum((a - b) ** 2 for a, b in zip(q, k, strict=True)) / math.sqrt(d)
    if isinstance(score, Additive):
        return sum(float(score.weight[h, c]) * math.tanh(q[c] + k[c]) for c in range(d))
    if isinstance(score, Cosine):
        norms = math.sqrt(sum(a * a for a in q)) * math.sqrt(sum(b * b for b in k))
        return math.exp(float(score.log_factor[h])) * dot / norms
    assert isinstance(score, Bilinear)
    return sum(q[a] * float(score.weight[h, a, b]) * k[b] for a in range(d) for b in range(d)) / math.sqrt(d)


@pytest.mark.parametrize("name", SCORES)
def test_each_score_is_its_formula(name: str) -> None:
    torch.manual_seed(1)
    score = SCORES[name](H, d).double().requires_grad_(False)
    query, key = draw()
    found = score(query, key)
    assert found.shape == (B, H, n, m)
    for b in range(B):
        for h in range(H):
            for i in range(n):
                for j in range(m):
                    wanted = plain(name, score, query[b, h, i].tolist(), key[b, h, j].tolist(), h)
                    # some thirty roundings of numbers below 100 in float64
                    assert float(found[b, h, i, j].detach()) == pytest.approx(wanted, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", SCORES)
def test_gradients_agree_with_finite_differences(name: str) -> None:
    torch.manual_seed(2)
    score = SCORES[name](H, d).double()
    query, key = (x[:1].requires_grad_() for x in draw(3))
    assert torch.autograd.gradcheck(score, (query, key))


def test_cosine_and_distance_ignore_what_they_should() -> None:
    query, key = draw(4)
    cosine, distance = SCORES["cosine"](H, d).double(), SCORES["squared distance"](H, d).double()
    assert torch.allclose(cosine(3 * query, key), cosine(query, key))
    shift = torch.randn(d, dtype=torch.float64)
    assert torch.allclose(distance(query + shift, key + shift), distance(query, key), atol=1e-10)
