"""attention_core.kernels.naive_causal: the fault it demonstrates is there, and is the only one."""

from __future__ import annotations

import torch

from attention_core.kernels.dot_product import dot_product_attention
from attention_core.kernels.naive_causal import naive_causal_attention


def test_the_first_row_is_divided_by_the_sum_over_all_keys() -> None:
    """Equal scores, four keys, constant values 4: row i holds i + 1 of the four quarters."""
    x, v = torch.zeros(4, 2), torch.full((4, 1), 4.0)
    assert naive_causal_attention(x, x, v, is_causal=True).flatten().tolist() == [1, 2, 3, 4]
    assert dot_product_attention(x, x, v, is_causal=True).flatten().tolist() == [4, 4, 4, 4]


def test_the_first_row_sees_the_last_key_through_the_normaliser_alone() -> None:
    q, k, v = torch.ones(3, 1), torch.zeros(3, 1), torch.tensor([[1.0], [2.0], [3.0]])
    later = k.clone()
    later[2] = 50.0
    before, after = (naive_causal_attention(q, key, v, is_causal=True)[0].item() for key in (k, later))
    # 1/3 falls to e^-50: far outside any rounding.
    assert after < before / 2
    changed = v.clone()
    changed[2] = 1000.0
    assert naive_causal_attention(q, k, changed, is_causal=True)[0].item() == before


def test_without_causality_it_is_attention() -> None:
    x = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(0))
    assert torch.equal(naive_causal_attention(x, x, x), dot_product_attention(x, x, x))
