"""Self-attention against torch.nn.functional.multi_head_attention_forward: plain, causal, multi-head.

Both sides compute in float64 from the same float64 numbers, and a bound on each side's error is added.
"""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn.functional import multi_head_attention_forward

from attention_core.modules.self_attention import MultiHeadSelfAttention, init_qkv_proj, self_attention

B, N, E = 2, 7, 30


def reference(x: torch.Tensor, layer: list[torch.nn.Linear], H: int, causal: bool) -> torch.Tensor:
    """What torch computes from the same projections, without an output projection (the identity)."""
    mask = torch.ones(N, N).triu(1).bool() if causal else None  # True = ignore, in this interface
    y, _ = multi_head_attention_forward(
        *[x.transpose(0, 1)] * 3, E, H,
        in_proj_weight=torch.cat([w.weight for w in layer]), in_proj_bias=torch.cat([w.bias for w in layer]),
        bias_k=None, bias_v=None, add_zero_attn=False, dropout_p=0.0,
        out_proj_weight=torch.eye(E, dtype=x.dtype), out_proj_bias=torch.zeros(E, dtype=x.dtype),
        attn_mask=mask, need_weights=False,
    )  # fmt: skip
    return y.transpose(0, 1)


def error_bound(x: torch.Tensor, layer: list[torch.nn.Linear], H: int) -> float:
    """A bound on |computed - exact| of one side, in four steps.

    u is the unit roundoff. Projections: E products and a bias, each entry up to P = max (|W| |x| + |b|) in
    size, so off by (E + 1) u P. Scores: d products of two such numbers, so off by
    D = d (2 (E + 1) + d + 4) u P^2 / sqrt(d). Weights: within e^(+-2D) and 2n + 8 roundings. Output: the
    weights sum to 1 and the values, up to P, are off by (E + 1) u P; the identity as output projection adds
    E + 1 roundings. The whole is doubled for products of errors.
    """
    u, d = torch.finfo(x.dtype).eps / 2, E // H
    with torch.no_grad():
        sizes = [w.weight.abs() @ x.abs().reshape(-1, E).T + w.bias.abs()[:, None] for w in layer]
    # The fused projection is one matrix, and its largest entry is that of the three.
    P = max(float(size.max()) for size in sizes)
    D = d * (2 * (E + 1) + d + 4) * u * P**2 / math.sqrt(d)
    return 2 * P * (math.expm1(2 * D) + (2 * N + 8 + 2 * (E + 1)) * u)


CASES = [
    pytest.param(1, False, id="plain"),
    pytest.param(1, True, id="causal"),
    pytest.param(5, True, id="multi-head"),
]


@pytest.mark.parametrize(("H", "causal"), CASES)
def test_self_attention_agrees_with_torch(H: int, causal: bool) -> None:
    torch.manual_seed(0)
    W_Q, W_K, W_V = layer = [w.double() for w in init_qkv_proj(E)]
    x = torch.randn(B, N, E, dtype=torch.float64)
    y = self_attention(W_Q(x), W_K(x), W_V(x), n_heads=H, causal=causal)
    error = (y - reference(x, layer, H, causal)).abs().max()
    assert error <= 2 * error_bound(x, layer, H)


@pytest.mark.parametrize(("H", "causal"), CASES)
@pytest.mark.parametrize("shared", [False, True])
def test_the_layer_agrees_with_torch(H: int, causal: bool, shared: bool) -> None:
    torch.manual_seed(1)
    module = MultiHeadSelfAttention(E, H, shared_projection=shared, output_projection=False).double()
    x = torch.randn(B, N, E, dtype=torch.float64)
    layer = list(module.projections)
    error = (module(x, is_causal=causal) - reference(x, layer, H, causal)).abs().max()
    assert error <= 2 * error_bound(x, layer, H)
