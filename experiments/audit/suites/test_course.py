"""What a course notebook tests: shapes, one comparison with torch, causality, weights that add up to 1.

Source of the rule: the checks that teaching notebooks on attention have in common (The Annotated Transformer, UvA's
deep learning tutorial 6): nothing is drawn but one normal input of one size.
"""

from __future__ import annotations

import torch
from target import attention


def inputs() -> list[torch.Tensor]:
    torch.manual_seed(0)
    return [torch.randn(2, 4, 10, 16) for _ in range(3)]


def test_the_shape_is_that_of_the_value() -> None:
    q, k, v = inputs()
    assert attention(q, k, v).shape == v.shape


def test_it_agrees_with_torch() -> None:
    q, k, v = inputs()
    want = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    assert torch.allclose(attention(q, k, v), want, atol=1e-5)


def test_weights_add_up_to_one() -> None:
    q, k, v = inputs()
    assert torch.allclose(attention(q, k, torch.ones_like(v)), torch.ones_like(v), atol=1e-5)


def test_the_future_is_hidden() -> None:
    q, k, v = inputs()
    before = attention(q, k, v, is_causal=True)
    k[..., 5:, :], v[..., 5:, :] = 9.0, 9.0
    after = attention(q, k, v, is_causal=True)
    assert torch.allclose(before[..., :5, :], after[..., :5, :], atol=1e-6)


def test_padding_is_hidden() -> None:
    q, k, v = inputs()
    mask = torch.ones(2, 1, 1, 10, dtype=torch.bool)
    mask[1, ..., 7:] = False
    before = attention(q, k, v, attn_mask=mask)
    v[1, :, 7:] = 9.0
    assert torch.allclose(before, attention(q, k, v, attn_mask=mask), atol=1e-6)


def test_gradients_flow() -> None:
    q, k, v = (x.requires_grad_() for x in inputs())
    attention(q, k, v).sum().backward()
    assert all(x.grad is not None and torch.isfinite(x.grad).all() for x in (q, k, v))
