"""The rule of flashinfer-bench: a number is wrong where its absolute and its relative error both exceed 1e-2.

Source of the rule: flashinfer-ai/flashinfer-bench, flashinfer_bench/bench/evaluators (defaults atol=1e-2, rtol=1e-2,
all numbers must match). Decoding and prefill in bfloat16 on normal inputs, the lengths sized down.
"""

from __future__ import annotations

import pytest
import torch
from target import attention
from torch import Tensor


def accept(got: Tensor, want: Tensor) -> None:
    """Raise where a number is wrong, or not finite."""
    assert got.shape == want.shape and got.dtype == want.dtype
    assert torch.isfinite(got).all()
    apart = (got.float() - want.float()).abs()
    wrong = (apart > 1e-2) & (apart / (want.float().abs() + 1e-8) > 1e-2)
    assert not wrong.any()


@pytest.mark.parametrize("batch", [1, 16])
@pytest.mark.parametrize(("n_q", "causal"), [(1, False), (128, True)])
def test_against_float32(batch: int, n_q: int, causal: bool) -> None:
    torch.manual_seed(0)
    n_kv = 1024 if n_q == 1 else n_q
    q = torch.randn(batch, 8, n_q, 128, dtype=torch.bfloat16)
    k, v = (torch.randn(batch, 2, n_kv, 128, dtype=torch.bfloat16) for _ in range(2))
    wide = [x.float() for x in (q, k, v)]
    want = torch.nn.functional.scaled_dot_product_attention(*wide, is_causal=causal, enable_gqa=True)
    accept(attention(q, k, v, is_causal=causal, enable_gqa=True), want.bfloat16())
