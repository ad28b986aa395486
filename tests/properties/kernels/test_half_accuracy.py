"""attention_core.kernels.half_accuracy: the definition in the inputs' dtype, whatever the chunk."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from attention_core.kernels.dot_product import dot_product_attention
from attention_core.kernels.half_accuracy import half_accuracy_attention

N = 21


def tensor(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64)


OPTIONS: list[dict[str, Any]] = [
    {},
    {"is_causal": True},
    {"scale": -0.5},
    {"attn_mask": tensor(N, N)},
    {"attn_mask": tensor(2, 1, 1, N) > 0},
    {"attn_mask": torch.zeros(N, N, dtype=torch.bool), "is_causal": True},
    {"attn_mask": tensor(2, 4, N, N) > 0, "is_causal": True},
]


@pytest.mark.parametrize("rows", [1, 4, 100])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_chunks_give_the_definition(rows: int, options: dict[str, Any]) -> None:
    """In float64 nothing but the order of sums differs: 21 terms of size 4 and their roundings are below 1e-12."""
    q, k, v = tensor(2, 4, N, 8), tensor(2, 2, N, 8), tensor(2, 2, N, 3)
    found = half_accuracy_attention(q, k, v, **options, enable_gqa=True, rows=rows)
    torch.testing.assert_close(found, dot_product_attention(q, k, v, **options, enable_gqa=True), rtol=0, atol=1e-11)


def test_any_number_of_axes() -> None:
    x = tensor(2, 3, 4, N, 8)
    whole = half_accuracy_attention(x, x, x, is_causal=True)
    one = half_accuracy_attention(x[1, 2, 3], x[1, 2, 3], x[1, 2, 3], is_causal=True)
    torch.testing.assert_close(whole[1, 2, 3], one, rtol=0, atol=1e-13)
    assert half_accuracy_attention(x[:0], x[:0], x[:0]).shape == (0, 3, 4, N, 8)
    assert half_accuracy_attention(x, x[..., :0, :], x[..., :0, :]).abs().max() == 0


def test_it_has_no_more_than_thrice_the_error_of_the_accurate_one() -> None:
    """Scores of size s are off by u s and weights by u more, beside the u of the output: about 2 in root mean square."""
    q, k, v = (tensor(1, 2, 256, 64 + i)[..., :64].bfloat16() for i in range(3))
    true = dot_product_attention(q.double(), k.double(), v.double())
    errors = [
        (f(q, k, v).double() - true).square().mean().sqrt() for f in (half_accuracy_attention, dot_product_attention)
    ]
    assert errors[1] < errors[0] < 3 * errors[1]


def test_gradients_of_chunks_and_heads_are_added_in_float32() -> None:
    """Each chunk of a head adds 16 * 205/1024, exact in float16; so is their sum, 820, but not the sums on the way."""
    q, k = torch.zeros(1, 2, 2048, 1, dtype=torch.float16), torch.zeros(1, 1, 1, 1, dtype=torch.float16)
    v = torch.zeros(1, 1, 1, 1, dtype=torch.float16, requires_grad=True)
    out = half_accuracy_attention(q, k, v, enable_gqa=True, rows=16)
    out.backward(torch.full_like(out, 205 / 1024))
    assert v.grad is not None and v.grad.item() == 820


def test_bad_calls_are_refused() -> None:
    x = tensor(1, 1, N, 8)
    with pytest.raises(ValueError, match="rows must be at least 1"):
        half_accuracy_attention(x, x, x, rows=0)
    with pytest.raises(ValueError, match="head sizes"):
        half_accuracy_attention(x, x[..., :3], x)
