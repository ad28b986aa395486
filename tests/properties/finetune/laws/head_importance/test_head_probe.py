"""The probe of attention heads: its losses and its layer are what they say."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from finetune.faults.bases.head_measures import Plain
from finetune.laws.head_importance import head_probe


def known_losses(N: int = 3, L: int = 2, H: int = 2) -> head_probe.KnownLosses:
    torch.manual_seed(0)
    shapes = ((N,), (N, L, H), (N,), (N, L, H))
    return head_probe.KnownLosses(*(torch.randn(shape, dtype=torch.float64) for shape in shapes))


def test_gates_that_all_texts_share_are_gates_of_each() -> None:
    model, batch = known_losses(), {"text": torch.tensor([2, 0])}
    gates = torch.rand(2, 2, dtype=torch.float64)
    losses = model(batch, gates)
    assert torch.equal(losses, model(batch, gates.expand(2, 2, 2)))
    assert torch.equal(model(batch), model(batch, torch.ones(2, 2)))
    along = (model.directions[2] * gates).sum()
    want = model.constants[2] + (model.slopes[2] * gates).sum() + model.bends[2] / 2 * along**2
    assert float((losses[0] - want).detach().abs()) < 1e-14


def test_the_layer_is_attention_with_heads_as_torch_has_it() -> None:
    torch.manual_seed(0)
    E, H = 6, 3
    weights = [torch.randn(shape, dtype=torch.float64) for _ in range(4) for shape in ((E, E), (E,))]
    x, layer = torch.randn(2, 4, E, dtype=torch.float64), head_probe.layer_of(weights, H)
    other = torch.nn.MultiheadAttention(E, H, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        other.in_proj_weight.copy_(torch.cat(weights[0:6:2]))
        other.in_proj_bias.copy_(torch.cat(weights[1:6:2]))
        other.out_proj.weight.copy_(weights[6])
        other.out_proj.bias.copy_(weights[7])
        torch.testing.assert_close(layer(x), other(x, x, x)[0])


def test_a_layer_without_heads_is_the_bias_of_its_projection() -> None:
    weights = [torch.ones(shape) for _ in range(4) for shape in ((2, 2), (2,))]
    layer = Plain().prune(head_probe.layer_of(weights, 2), [0, 1])
    assert layer.n_head == 0 and torch.equal(layer(torch.zeros(1, 3, 2)), torch.ones(1, 3, 2))


def test_the_mode_is_the_one_asked_for_and_gradients_are_on() -> None:
    seen = []

    def measure(model: Any, batches: list[dict[str, Tensor]], layers: int, heads: int) -> Tensor:
        seen.append((model.training, torch.is_grad_enabled(), [b["text"].tolist() for b in batches], layers, heads))
        return torch.zeros(layers, heads)

    arrays = known_losses()
    run = head_probe.make_target(gradient=measure)
    with torch.no_grad():
        for training in (False, True):
            run(
                "gradient", arrays.constants, arrays.slopes, arrays.bends, arrays.directions, batches=[[1], [2, 0]],
                training=training,
            )  # fmt: skip
    assert seen == [(training, True, [[1], [2, 0]], 2, 2) for training in (False, False, True, True)]
    with pytest.raises(head_probe.NothingGiven, match="no prune was given"):
        run("prune")
