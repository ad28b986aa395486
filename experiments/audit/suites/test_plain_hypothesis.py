"""A plain property test: a hundred drawn problems in float32 against torch, with the defaults of assert_close.

Source of the rule: what a careful author writes with Hypothesis in ten lines: sizes, causality, masks and
seeds are drawn.
"""

from __future__ import annotations

import hypothesis
import torch
from hypothesis import strategies as st
from target import attention


@hypothesis.settings(max_examples=100, deadline=None, derandomize=True)
@hypothesis.given(
    st.tuples(*(st.integers(1, top) for top in (3, 4, 40, 40, 32))), st.sampled_from(["none", "causal", "mask"]),
    st.integers(0, 2**31),
)  # fmt: skip
def test_it_agrees_with_torch(sizes: tuple[int, ...], kind: str, seed: int) -> None:
    B, H, n_q, n_kv, d = sizes
    torch.manual_seed(seed)
    q, k, v = torch.randn(B, H, n_q, d), torch.randn(B, H, n_kv, d), torch.randn(B, H, n_kv, d)
    mask = None
    if kind == "mask":
        mask = torch.rand(B, 1, n_q, n_kv) < 0.7
        mask[..., 0] = True
    out = attention(q, k, v, attn_mask=mask, is_causal=kind == "causal")
    want = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=kind == "causal")
    torch.testing.assert_close(out, want)
