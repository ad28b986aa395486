"""Attention without a matrix of scores: the plain formulas in float64, causality, gradients, an unbiased kernel."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from finetune.experiments.linear_cost import AttentionFree, RandomFeatures

B, H, n, d = 2, 2, 7, 4


def draw(seed: int = 0, length: int = n) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    q, k, v = torch.randn(3, B, H, length, d, generator=generator, dtype=torch.float64)
    return q, k, v


def make(name: str) -> nn.Module:
    torch.manual_seed(5)
    if name == "features":
        return RandomFeatures(d, 6, chunk=3).double()
    found = AttentionFree(n if name == "AFT" else None).double()
    if found.weight is not None:
        nn.init.normal_(found.weight)
    return found


@pytest.mark.parametrize("name", ["AFT", "AFT-simple"])
def test_attention_free_is_its_formula(name: str) -> None:
    module, (q, k, v) = make(name), draw()
    assert isinstance(module, AttentionFree)
    w = torch.zeros(n, n, dtype=torch.float64) if module.weight is None else module.weight.detach()
    found = module(q, k, v).detach()
    for t in range(n):
        for c in range(d):
            e = [math.exp(float(k[1, 1, s, c]) + float(w[t, s])) for s in range(t + 1)]
            mean = sum(a * float(v[1, 1, s, c]) for s, a in enumerate(e)) / sum(e)
            wanted = mean / (1 + math.exp(-float(q[1, 1, t, c])))
            assert float(found[1, 1, t, c]) == pytest.approx(wanted, rel=1e-12)


def test_chunks_of_random_features_are_the_plain_sums() -> None:
    module, (q, k, v) = make("features"), draw()
    assert isinstance(module, RandomFeatures)
    phi = [module.features(x).exp() for x in (q, k)]
    for i in range(n):
        a = (phi[0][0, 1, i] * phi[1][0, 1, : i + 1]).sum(-1)
        wanted = (a[:, None] * v[0, 1, : i + 1]).sum(0) / a.sum()
        assert torch.allclose(module(q, k, v)[0, 1, i], wanted, rtol=1e-10)


def test_random_features_estimate_the_softmax_kernel_without_bias() -> None:
    torch.manual_seed(0)
    count = 200_000
    module, (q, k, _) = RandomFeatures(d, count).double(), draw(1)
    q, k = q[:1, :1, :3] / 2, k[:1, :1, :3] / 2
    products = module.features(q).exp() * module.features(k).exp()  # (1, 1, 3, m), query i with key i
    wanted = ((q * k).sum(-1) / math.sqrt(d)).exp()
    error = products.std(-1) / math.sqrt(count)
    assert ((products.mean(-1) - wanted).abs() < 5 * error).all()


@pytest.mark.parametrize("name", ["AFT", "AFT-simple", "features"])
def test_no_row_sees_a_later_one(name: str) -> None:
    module, (q, k, v) = make(name), draw(2)
    before = module(q, k, v)
    for j in (1, 4, n - 1):
        other = [x.clone() for x in (q, k, v)]
        for x in other:
            x[..., j:, :] += torch.randn_like(x[..., j:, :])
        # what cancels is divided out: a few roundings in float64
        assert torch.allclose(module(*other)[..., :j, :], before[..., :j, :], rtol=1e-11, atol=1e-12)
        assert not torch.allclose(module(*other)[..., j:, :], before[..., j:, :])


@pytest.mark.parametrize("name", ["AFT", "AFT-simple", "features"])
def test_gradients_agree_with_finite_differences(name: str) -> None:
    q, k, v = (x[:1, :1, :4].clone().requires_grad_() for x in draw(3))
    assert torch.autograd.gradcheck(make(name), (q, k, v))
