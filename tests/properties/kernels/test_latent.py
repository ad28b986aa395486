"""Absorbed and materialised latent attention are one function: attention with projected keys and values."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attention_core.kernels.latent import absorbed_latent_attention, materialised_latent_attention

KERNELS = [absorbed_latent_attention, materialised_latent_attention]
SHAPES = ((2, 3, 4, 5), (2, 3, 4, 2), (2, 6, 7), (2, 6, 2), (3, 5, 7), (3, 8, 7))


def draw(dtype: torch.dtype = torch.float64) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype) for shape in SHAPES]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("causal", [False, True])
def test_it_is_attention_with_projected_keys_and_values(kernel: Any, causal: bool) -> None:
    q, q_rope, c, k_rope, w_uk, w_uv = inputs = draw()
    key = torch.cat([torch.einsum("har,bnr->bhna", w_uk, c), k_rope[:, None].expand(2, 3, 6, 2)], -1)
    value = torch.einsum("har,bnr->bhna", w_uv, c)
    mask = torch.ones(4, 6, dtype=torch.bool).tril(2) if causal else None
    for scale in (None, 0.3):
        want = scaled_dot_product_attention(torch.cat([q, q_rope], -1), key, value, mask, scale=scale)
        torch.testing.assert_close(kernel(*inputs, is_causal=causal, scale=scale), want)


@pytest.mark.parametrize("kernel", KERNELS)
def test_two_byte_inputs_are_computed_in_float32(kernel: Any) -> None:
    inputs = draw(torch.bfloat16)
    out = kernel(*inputs)
    assert out.dtype == torch.bfloat16
    torch.testing.assert_close(out, kernel(*(x.float() for x in inputs)).bfloat16())


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("place", range(1, 6))
def test_shapes_that_contradict_each_other_are_refused(kernel: Any, place: int) -> None:
    inputs = draw()
    inputs[place] = inputs[place][..., :-1, :1]
    with pytest.raises(ValueError, match=r"\(B, n_kv, r\)"):
        kernel(*inputs)
