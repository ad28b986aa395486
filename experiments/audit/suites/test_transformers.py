"""The rule of transformers: eager against SDPA in evaluation, 80 % of the sequences within a tolerance by dtype.

Source of the rule: huggingface/transformers PR34512, test_eager_matches_sdpa_inference: padding on either side, the
tolerances of a processor.
"""

from __future__ import annotations

import pytest
import torch
from target import attention

ALLOWED = {torch.float32: (1e-6, 1e-4), torch.float16: (5e-3, 5e-3), torch.bfloat16: (1e-2, 1e-2)}


@pytest.mark.parametrize("dtype", list(ALLOWED))
@pytest.mark.parametrize("side", ["left", "right", "none"])
@pytest.mark.parametrize("causal", [False, True])
@torch.no_grad()
def test_the_same_as_sdpa(dtype: torch.dtype, side: str, causal: bool) -> None:
    torch.manual_seed(0)
    q, k, v = (torch.randn(13, 4, 7, 8).to(dtype) for _ in range(3))
    keep = torch.ones(13, 1, 1, 7, dtype=torch.bool)
    keep[-1, ..., slice(0, 2) if side == "left" else slice(5, 7)] = False
    mask = None if side == "none" else keep
    if causal and mask is not None:
        mask = mask & torch.ones(7, 7, dtype=torch.bool).tril()
    alone = causal and mask is None
    out = attention(q, k, v, attn_mask=mask, is_causal=alone)
    want = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=alone)
    real = keep[:, :, 0, :, None].expand_as(want) if side != "none" else torch.ones_like(want, dtype=torch.bool)
    atol, rtol = ALLOWED[dtype]
    fit = [torch.allclose(o[r], w[r], atol=atol, rtol=rtol) for o, w, r in zip(out, want, real, strict=True)]
    assert sum(fit) >= 0.8 * len(fit)
