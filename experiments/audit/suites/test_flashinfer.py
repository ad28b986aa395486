"""The rule of FlashInfer: half precision, outputs within 1e-3, at single tokens of decoding and at chunks of a prompt.

Source of the rule: flashinfer-ai/flashinfer, tests/attention/test_batch_prefill_kernels.py and
test_batch_decode_kernels.py (assert_close with rtol=1e-3, atol=1e-3). Lengths are its own up to some hundreds.
"""

from __future__ import annotations

import pytest
import torch
from target import attention


@pytest.mark.parametrize("n_kv", [54, 97, 512])
@pytest.mark.parametrize("kv_heads", [4, 1])
@pytest.mark.parametrize("d", [64, 128])
def test_decoding(n_kv: int, kv_heads: int, d: int) -> None:
    torch.manual_seed(42)
    q = torch.randn(12, 4, 1, d).half()
    k, v = (torch.randn(12, kv_heads, n_kv, d).half() for _ in range(2))
    want = torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float(), enable_gqa=True)
    out = attention(q, k, v, enable_gqa=kv_heads != 4)
    torch.testing.assert_close(out, want.half(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("n_kv", [127, 501])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kv_heads", [4, 1])
def test_prefill(n_kv: int, causal: bool, kv_heads: int) -> None:
    torch.manual_seed(42)
    q = torch.randn(1, 4, n_kv, 128).half()
    k, v = (torch.randn(1, kv_heads, n_kv, 128).half() for _ in range(2))
    wide = [x.float() for x in (q, k, v)]
    want = torch.nn.functional.scaled_dot_product_attention(*wide, is_causal=causal, enable_gqa=True)
    out = attention(q, k, v, is_causal=causal, enable_gqa=kv_heads != 4)
    torch.testing.assert_close(out, want.half(), rtol=1e-3, atol=1e-3)
