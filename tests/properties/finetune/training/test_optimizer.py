"""AdamW's groups and the schedule.

finetune.training.optimizer: which parameters decay, found by module, and the learning rate as a function of tokens.
"""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from finetune.errors import BadInput
from finetune.models.gpt import GPT, GPTConfig
from finetune.training.optimizer import OPTIMIZERS, SCHEDULES, adamw, decayed_parameters, rate


@pytest.mark.parametrize("attention", ["vanilla", "rotary", "synthesizer"])
def test_matrices_decay_and_nothing_else(attention: str) -> None:
    made = GPT(GPTConfig(11, 9, 2, 3, 12, attention, synthesizer="per_head_bias"))
    projections = ("w1", "w2", "value", "proj") if attention == "synthesizer" else ("query", "key", "value", "proj")
    names = {f"attn.{p}" + ("" if p == "w2" else ".weight") for p in projections} | {"mlp.0.weight", "mlp.2.weight"}
    want = {f"blocks.{n}.{name}" for n in range(2) for name in names} | {"head.weight"}
    assert decayed_parameters(made) == want
    optimizer = adamw(made, 1e-3)
    decayed, plain = optimizer.param_groups
    by_id = {id(p): name for name, p in made.named_parameters()}
    assert {by_id[id(p)] for p in decayed["params"]} == want and decayed["weight_decay"] == 0.1
    assert {by_id[id(p)] for p in plain["params"]} == set(by_id.values()) - want and plain["weight_decay"] == 0
    assert optimizer.defaults["betas"] == (0.9, 0.95)


def test_names_do_not_matter_and_shared_embeddings_do_not_decay() -> None:
    """A name filter would let `scale` and `table` decay: they are a norm's and an embedding's."""

    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bias, self.norm = nn.Linear(3, 4), nn.Identity()
            self.table, self.scale = nn.Embedding(4, 3), nn.LayerNorm(3)
            self.tied, self.free = nn.Linear(3, 4, bias=False), nn.Parameter(torch.zeros(3, 3))
            self.tied.weight = self.table.weight

    assert decayed_parameters(Odd()) == {"bias.weight"}


def test_frozen_parameters_are_in_no_group() -> None:
    made = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    made[0].requires_grad_(False)
    assert sum(len(g["params"]) for g in adamw(made, 1e-3).param_groups) == 2
    made.requires_grad_(False)
    with pytest.raises(BadInput, match="no parameter of the model is trainable"):
        adamw(made, 1e-3)


def test_decay_shrinks_what_has_no_gradient_from_the_loss() -> None:
    """One step with zero gradients: matrices shrink by lr * decay, biases stay."""
    layer = nn.Linear(3, 3).double()
    before = layer.weight.detach().clone(), layer.bias.detach().clone()
    optimizer = adamw(layer, 0.5, weight_decay=0.1)
    for parameter in layer.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    assert (layer.weight / before[0] - 0.95).abs().max() < 4 * 2.0**-53
    assert torch.equal(layer.bias, before[1])


def test_the_rate_rises_linearly_falls_as_a_cosine_and_stays() -> None:
    assert [rate(t, 100, 1100) for t in (0, 25, 50, 100)] == [0, 0.25, 0.5, 1.0]
    assert abs(rate(600, 100, 1100) - 0.5) < 4 * 2.0**-53
    assert rate(350, 100, 1100) == (1 + math.cos(math.pi / 4)) / 2
    # minGPT's factor would be 1 again at 2100 tokens.
    assert [rate(t, 100, 1100) for t in (1100, 1600, 2100, 10**9)] == [0.1] * 4
    assert [rate(t, 10, None) for t in (5, 10, 10**9)] == [0.5, 1.0, 1.0]
    assert rate(0, 0, 10) == 1.0
    falling = [rate(t, 100, 1100) for t in range(100, 1200)]
    assert falling == sorted(falling, reverse=True)


def test_a_warm_up_longer_than_the_schedule_is_refused() -> None:
    with pytest.raises(BadInput, match="warm-up of 100 tokens ends after the schedule, which ends at 100"):
        rate(0, 100, 100)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_decays_matrices_alone(name: str) -> None:
    made = nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3), nn.Embedding(4, 3))
    optimizer = OPTIMIZERS[name](made, 0.5, (0.8, 0.9), 0.25)
    decayed, plain = optimizer.param_groups
    assert decayed["params"] == [made[0].weight] and decayed["weight_decay"] == 0.25 and decayed["lr"] == 0.5
    assert len(plain["params"]) == 4 and plain["weight_decay"] == 0


@pytest.mark.parametrize(("name", "step"), [("sgd", 0.5 * 3), ("adagrad", 0.5 * 3 / (3 + 1e-10))])
def test_one_step_of_sgd_and_of_adagrad(name: str, step: float) -> None:
    """With gradient 3: SGD goes lr g, Adagrad lr g / (sqrt(g^2) + eps) at first."""
    layer = nn.Linear(1, 1).double()
    before = layer.bias.item()
    layer.bias.grad = torch.tensor([3.0], dtype=torch.float64)
    OPTIMIZERS[name](layer, 0.5, (0.9, 0.95), 0.0).step()
    assert before - layer.bias.item() == pytest.approx(step, abs=8 * 2.0**-53 * (1 + abs(before)))


def test_the_linear_schedule_falls_to_its_floor_and_the_constant_one_stays() -> None:
    assert SCHEDULES == ("cosine", "linear", "constant")
    assert [rate(n, 10, 110, 0.0, "linear") for n in (5, 10, 60, 110, 500)] == [0.5, 1.0, 0.5, 0.0, 0.0]
    assert rate(500, 10, 110, 0.25, "linear") == 0.25
    assert [rate(n, 10, 110, 0.0, "constant") for n in (5, 10, 500)] == [0.5, 1.0, 1.0]
