"""Long inputs: bytes that a call keeps, the exponent of growth, and a fused kernel that is the same function."""

from __future__ import annotations

import pytest
import torch

from finetune.experiments.long_inputs import MIXES, growth, saved_bytes


def test_the_bytes_of_a_product_are_those_of_its_factors() -> None:
    a, b = torch.randn(10, 20, requires_grad=True), torch.randn(20, 5, requires_grad=True)
    assert saved_bytes(lambda: a @ b) == 4 * (10 * 20 + 20 * 5)
    assert saved_bytes(lambda: a + 1) == 0


@pytest.mark.parametrize("exponent", [1.0, 1.5, 2.0])
def test_growth_is_the_exponent(exponent: float) -> None:
    assert growth([(n, 3 * n**exponent) for n in (64, 128, 512)]) == pytest.approx(exponent, abs=1e-5)


def test_the_fused_kernel_is_the_same_function_and_keeps_less() -> None:
    q, k, v = torch.randn(3, 1, 2, 512, 32, requires_grad=True).unbind(0)
    plain, fused = MIXES["matrix of scores"](), MIXES["fused"]()
    # float32 sums of 512 weights
    assert torch.allclose(plain(q, k, v), fused(q, k, v), atol=1e-5)
    assert saved_bytes(lambda: fused(q, k, v)) < saved_bytes(lambda: plain(q, k, v)) / 3
