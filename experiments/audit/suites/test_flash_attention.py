"""The rule of flash-attention: the largest error is at most twice that of a plain implementation in low precision.

Source of the rule: Dao-AILab/flash-attention, tests/test_flash_attn.py ("numerical error is at most twice"). The grid
of sizes, dtypes and causality is that of its tests, sized down to lengths of some hundreds; one seed.
"""

from __future__ import annotations

import math

import pytest
import torch
from target import attention
from torch import Tensor

LENGTHS = [(113, 203), (128, 217), (113, 211), (108, 256), (256, 256), (128, 128)]


def plain(q: Tensor, k: Tensor, v: Tensor, causal: bool, dtype: torch.dtype) -> Tensor:
    """The formula with every step in one dtype."""
    group = q.shape[1] // k.shape[1]
    q, k, v = q.to(dtype), k.repeat_interleave(group, 1).to(dtype), v.repeat_interleave(group, 1).to(dtype)
    s = q @ (k / math.sqrt(q.shape[-1])).mT
    if causal:
        s = s.masked_fill(torch.ones(s.shape[-2:], dtype=torch.bool).triu(1), -math.inf)
    return torch.softmax(s, -1) @ v


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kv_heads", [4, 2])
@pytest.mark.parametrize("d", [32, 64])
@pytest.mark.parametrize(("n_q", "n_kv"), LENGTHS)
def test_output_and_gradients(dtype: torch.dtype, causal: bool, kv_heads: int, d: int, n_q: int, n_kv: int) -> None:
    torch.random.manual_seed(0)
    q = torch.randn(2, 4, n_q, d, dtype=dtype, requires_grad=True)
    k, v = (torch.randn(2, kv_heads, n_kv, d, dtype=dtype, requires_grad=True) for _ in range(2))
    cotangent = torch.randn(2, 4, n_q, d, dtype=dtype)
    found = []
    for function in (
        lambda: attention(q, k, v, is_causal=causal, enable_gqa=kv_heads != 4),
        lambda: plain(q, k, v, causal, torch.float32).to(dtype),
        lambda: plain(q, k, v, causal, dtype),
    ):
        out = function()
        found.append((out, *torch.autograd.grad(out, (q, k, v), cotangent)))
    for got, reference, low in zip(*found, strict=True):
        assert (got - reference).abs().max() <= 2 * (low - reference).abs().max()
