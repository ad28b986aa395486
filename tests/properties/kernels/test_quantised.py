"""Attention to stored numbers is attention to the dequantised ones, whatever has a scale of its own."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from attention_core.kernels.quantised import quantised_attention

K = torch.randint(-128, 128, (2, 3, 5, 4), generator=torch.Generator().manual_seed(0)).to(torch.int8)
V = K.flip(2)
Q = torch.randn(2, 6, 3, 4, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 5), (2, 3, 3)])
@pytest.mark.parametrize("causal", [False, True])
def test_it_is_attention_to_the_dequantised_numbers(shape: tuple[int, ...], causal: bool) -> None:
    block = 2 if shape == (2, 3, 3) else 1
    scales = 0.02 + 0.01 * torch.rand(2, *shape, generator=torch.Generator().manual_seed(2))

    def read(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        if scale.dim() == 3:
            scale = scale.repeat_interleave(block, 2)[:, :, :5]
        else:
            scale = scale[..., None] if scale.dim() else scale
        return x * (scale[..., None] if scale.dim() else scale)

    k, v = read(K, scales[0]), read(V, scales[1])
    mask = torch.ones(3, 5, dtype=torch.bool).tril(2) if causal else None
    want = scaled_dot_product_attention(Q, k, v, mask, scale=0.3, enable_gqa=True)
    got = quantised_attention(Q, K, V, scales[0], scales[1], is_causal=causal, scale=0.3, block=block)
    torch.testing.assert_close(got, want)


@pytest.mark.parametrize("stored", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_float8_is_read_and_two_byte_queries_are_kept(stored: torch.dtype) -> None:
    k, v = (x.float().div(8).to(stored) for x in (K, V))
    out = quantised_attention(Q.bfloat16(), k, v, torch.tensor(0.5), torch.tensor(2.0))
    want = scaled_dot_product_attention(Q.bfloat16().float(), 0.5 * k.float(), 2.0 * v.float(), enable_gqa=True)
    assert out.dtype == torch.bfloat16
    torch.testing.assert_close(out.float(), want, rtol=0.01, atol=0.05)


def test_shapes_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match=r"key \(B, H_kv, n_kv, d\)"):
        quantised_attention(Q, K, V[:, :, :4], torch.tensor(1.0), torch.tensor(1.0))
