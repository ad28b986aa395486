"""Networks as projections: the control is linear, the networks are not, and each ReLU stands where its name says."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from finetune.experiments.attention import PluggedAttention
from finetune.experiments.projection_networks import PROJECTIONS, network, two_linear
from finetune.models.gpt import GPTConfig


def is_affine(module: nn.Module) -> bool:
    x, y = torch.randn(2, 3, 8, dtype=torch.float64)
    module = module.double()
    return bool(torch.allclose(module((x + y) / 2), (module(x) + module(y)) / 2))


def test_the_control_is_linear_and_the_network_is_not() -> None:
    assert is_affine(two_linear(8)) and not is_affine(network(8))
    assert sum(p.numel() for p in two_linear(8).parameters()) == sum(p.numel() for p in network(8).parameters())


@pytest.mark.parametrize("role", ["query", "key", "value"])
def test_a_relu_stands_on_one_projection(role: str) -> None:
    attention = PluggedAttention(GPTConfig(10, 8, 1, 2, 8), project=PROJECTIONS[f"ReLU on {role}"])
    x = torch.randn(4, 8)
    assert [bool((getattr(attention, each)(x) >= 0).all()) for each in ("query", "key", "value")] == [
        each == role for each in ("query", "key", "value")
    ]
