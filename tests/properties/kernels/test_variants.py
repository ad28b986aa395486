"""Sigmoid and differential attention of ours, on numbers worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch

from attention_core.kernels.variants import differential_attention, sigmoid_attention


def test_sigmoid_attention_by_hand() -> None:
    q = torch.ones(1, 1, 2, 1)
    k, v = torch.tensor([0.0, math.log(3.0)]).view(1, 1, 2, 1), torch.tensor([4.0, 8.0]).view(1, 1, 2, 1)
    assert sigmoid_attention(q, k, v, bias=0.0).flatten().tolist() == pytest.approx([2 + 6, 2 + 6])
    assert sigmoid_attention(q, k, v).flatten().tolist() == pytest.approx([4 / 3 + 8 * 3 / 5] * 2)
    assert sigmoid_attention(q, k, v, bias=0.0, is_causal=True).flatten().tolist() == pytest.approx([2, 8])
    mask = torch.tensor([[False, True], [False, False]])
    assert sigmoid_attention(q, k, v, mask, bias=0.0, scale=0.0).flatten().tolist() == [4.0, 0.0]
    assert sigmoid_attention(q.half(), k.half(), v.half()).dtype == torch.float16
    with pytest.raises(ValueError, match="1 keys have 2 values"):
        sigmoid_attention(q, k[:, :, :1], v)


def test_differential_attention_by_hand() -> None:
    q = torch.ones(1, 1, 1, 1)
    k1, k2 = (torch.tensor([0.0, math.log(r)]).view(1, 1, 2, 1) for r in (3.0, 1.0))
    v = torch.tensor([4.0, 8.0]).view(1, 1, 2, 1)
    assert differential_attention(q, k1, q, k2, v, 0.5).item() == pytest.approx(7 - 3)
    assert differential_attention(q, k1, q, k2, v, 0.0).item() == pytest.approx(7)
    assert differential_attention(q, k1, q, k2, v, 1.0, is_causal=True).item() == pytest.approx(0)
    assert differential_attention(q, k1, q, k2, v, -1.0, scale=0.0).item() == pytest.approx(12)
