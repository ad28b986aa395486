"""The rule of torch's own tests of SDPA: forms of its arguments against the formula, within assertEqual's tolerance.

Source of the rule: pytorch/pytorch, test/test_transformers.py (scaled dot product attention with and without a mask of
three kinds, causality, a scale, 3 and 4 axes, gradients; the defaults of TestCase.assertEqual for float32 and float64).
"""

from __future__ import annotations

import math

import pytest
import torch
from target import attention
from torch import Tensor


def formula(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool, scale: float | None) -> Tensor:
    """The formula as torch's documentation has it."""
    bias = torch.zeros(q.shape[-2], k.shape[-2], dtype=q.dtype)
    if causal:
        bias = bias.masked_fill(torch.ones(bias.shape, dtype=torch.bool).tril().logical_not(), -math.inf)
    if mask is not None:
        bias = bias.masked_fill(mask.logical_not(), -math.inf) if mask.dtype == torch.bool else mask + bias
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    return torch.softmax(q @ k.mT * factor + bias, -1) @ v


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", ["none", "bool", "float", "causal"])
@pytest.mark.parametrize("lead", [(2, 4), (4,)])
@pytest.mark.parametrize("scale", [None, 0.3])
@pytest.mark.parametrize(("n_q", "n_kv"), [(8, 8), (5, 11)])
def test_forms(dtype: torch.dtype, kind: str, lead: tuple[int, ...], scale: float | None, n_q: int, n_kv: int) -> None:
    torch.manual_seed(0)
    q = torch.randn(*lead, n_q, 16, dtype=dtype, requires_grad=True)
    k, v = (torch.randn(*lead, n_kv, 16, dtype=dtype, requires_grad=True) for _ in range(2))
    mask = torch.randn(n_q, n_kv, dtype=dtype) if kind == "float" else None
    if kind == "bool":
        mask = torch.randint(0, 2, (n_q, n_kv)).bool()
        mask[:, 0] = True
    out = attention(q, k, v, attn_mask=mask, is_causal=kind == "causal", scale=scale)
    want = formula(q, k, v, mask, kind == "causal", scale)
    torch.testing.assert_close(out, want)
    cotangent = torch.randn_like(want)
    for got, true in zip(
        torch.autograd.grad(out, (q, k, v), cotangent), torch.autograd.grad(want, (q, k, v), cotangent), strict=True
    ):
        torch.testing.assert_close(got, true)


def test_grouped_heads() -> None:
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 8, 6, 16), torch.randn(2, 2, 6, 16), torch.randn(2, 2, 6, 16)
    want = formula(q, k.repeat_interleave(4, 1), v.repeat_interleave(4, 1), None, False, None)
    torch.testing.assert_close(attention(q, k, v, enable_gqa=True), want)


def test_dropout_of_nothing_and_of_everything() -> None:
    q, k, v = (torch.randn(2, 4, 6, 16) for _ in range(3))
    torch.testing.assert_close(attention(q, k, v, dropout_p=0.0), attention(q, k, v))
    assert not attention(q, k, v, dropout_p=1.0).any()
