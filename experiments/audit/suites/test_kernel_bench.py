"""The rule of KernelBench: allclose with 1e-2 and 1e-2, five seeds, one shape, forward alone.

Source of the rule: ScalingIntelligence/KernelBench, src/kernelbench/eval.py, run_and_check_correctness; the inputs are
uniform, as those of its problem of scaled dot product attention, and sized down.
"""

from __future__ import annotations

import pytest
import torch
from target import attention


@pytest.mark.parametrize("seed", range(5))
def test_one_shape(seed: int) -> None:
    torch.manual_seed(42 + seed)
    q, k, v = (torch.rand(4, 8, 128, 64) for _ in range(3))
    with torch.no_grad():
        out, want = attention(q, k, v), torch.nn.functional.scaled_dot_product_attention(q, k, v)
    assert out.shape == want.shape
    assert torch.allclose(out, want, atol=1e-2, rtol=1e-2)
