"""The rule of TransformerEngine: one backend against another on small inputs, a typed tolerance, forward and backward.

Source of the rule: NVIDIA/TransformerEngine, tests/pytorch/fused_attn/test_fused_attn.py, test_dot_product_attention
(5e-3 in float16, 2.5e-2 in bfloat16; inputs 0.1 randn; no mask, causal, padding and a bias).
"""

from __future__ import annotations

import pytest
import torch
from target import attention


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float16, 5e-3), (torch.bfloat16, 2.5e-2)])
@pytest.mark.parametrize("kind", ["none", "causal", "padding", "bias"])
@pytest.mark.parametrize("kv_heads", [8, 2])
def test_backends_agree(dtype: torch.dtype, tolerance: float, kind: str, kv_heads: int) -> None:
    torch.manual_seed(1234)
    shapes = ((2, 8, 128, 64), (2, kv_heads, 128, 64), (2, kv_heads, 128, 64))
    q, k, v = ((0.1 * torch.randn(shape)).to(dtype).requires_grad_() for shape in shapes)
    mask = None
    if kind == "padding":
        mask = (torch.arange(128) < torch.randint(1, 129, (2,))[:, None])[:, None, None]
    elif kind == "bias":
        mask = torch.randn(1, 8, 128, 128).to(dtype)
    options = {"attn_mask": mask, "is_causal": kind == "causal", "enable_gqa": kv_heads != 8}
    out = attention(q, k, v, **options)
    want = torch.nn.functional.scaled_dot_product_attention(q, k, v, **options)
    torch.testing.assert_close(out, want, atol=tolerance, rtol=tolerance)
    cotangent = (0.001 * torch.randint(0, 200, want.shape)).to(dtype)
    for got, true in zip(
        torch.autograd.grad(out, (q, k, v), cotangent), torch.autograd.grad(want, (q, k, v), cotangent), strict=True
    ):
        torch.testing.assert_close(got, true, atol=tolerance, rtol=tolerance)
