"""Muon and AdamW as one optimizer.

finetune.training.optimizer: which matrices Muon has, that one rate and one state reach both optimizers, and the size of its step.
"""

from __future__ import annotations

import copy
import math

import pytest
import torch
from torch import nn

from finetune.models.gpt import GPT, GPTConfig
from finetune.training.optimizer import OPTIMIZERS, MuonAndAdamW


def small(attention: str = "vanilla") -> GPT:
    torch.manual_seed(0)
    return GPT(GPTConfig(11, 9, 2, 3, 12, attention, dropout=0.0))


def learn(model: GPT, optimizer: torch.optim.Optimizer, steps: int) -> list[float]:
    losses = []
    for step in range(steps):
        ids = torch.randint(11, (4, 9), generator=torch.Generator().manual_seed(step))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize(
    ("attention", "count"), [("vanilla", 12), ("rotary", 12), ("synthesizer", 10)]  # w1, value, proj, two of mlp
)  # fmt: skip
def test_muon_has_the_linear_maps_of_the_blocks(attention: str, count: int) -> None:
    made = small(attention)
    optimizer = OPTIMIZERS["muon"](made, 1e-3, (0.9, 0.95), 0.1)
    assert isinstance(optimizer, MuonAndAdamW)
    by_id = {id(p): name for name, p in made.named_parameters()}
    names = [by_id[id(p)] for group in optimizer.parts["muon"].param_groups for p in group["params"]]
    assert len(names) == count and all(n.startswith("blocks.") and n.endswith(".weight") for n in names)
    rest = [by_id[id(p)] for group in optimizer.parts["adamw"].param_groups for p in group["params"]]
    assert sorted(names + rest) == sorted(by_id.values())
    decayed = {by_id[id(p)] for g in optimizer.param_groups if g["weight_decay"] for p in g["params"]}
    assert {"head.weight", *names} <= decayed and "tok_emb.weight" not in decayed


@pytest.mark.parametrize("shape", [(3, 12), (12, 3)])
def test_a_step_turns_every_direction_by_about_the_same(shape: tuple[int, int]) -> None:
    """The singular values of a gradient are 1 to 50; those of the step all within 0.5 and 1.5 of 0.2 lr sqrt(12).

    That interval is what torch's documentation gives for its coefficients; the factor and the decay are ours to check.
    """
    torch.manual_seed(1)
    left, right = (torch.linalg.qr(torch.randn(n, 3))[0] for n in shape)
    weight = nn.Parameter(torch.randn(shape))
    before = weight.detach().clone()
    weight.grad = left @ torch.diag(torch.tensor([50.0, 7.0, 1.0])) @ right.T
    MuonAndAdamW([{"params": [weight], "weight_decay": 0.25}], [], 0.5, (0.9, 0.95)).step()
    step = (before * (1 - 0.5 * 0.25) - weight.detach()) / (0.5 * 0.2 * math.sqrt(12))
    sizes = torch.linalg.svdvals(step)
    assert sizes.min() > 0.5 and sizes.max() < 1.5
    assert torch.linalg.svdvals(left.T @ step @ right).min() > 0.5  # and in the directions of the gradient, with
    assert torch.diagonal(left.T @ step @ right).min() > 0.5  # its sign


def test_one_rate_reaches_both_also_after_a_state() -> None:
    made = small()
    optimizer = OPTIMIZERS["muon"](made, 1e-2, (0.9, 0.95), 0.1)
    learn(made, optimizer, 2)
    optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    for group in optimizer.param_groups:
        group["lr"] = 0.0
    before = copy.deepcopy(made.state_dict())
    learn(made, optimizer, 1)
    assert all(torch.equal(value, before[name]) for name, value in made.state_dict().items())


def test_a_run_goes_on_from_a_state_as_if_it_had_not_stopped() -> None:
    made = small()
    optimizer = OPTIMIZERS["muon"](made, 1e-2, (0.9, 0.95), 0.1)
    learn(made, optimizer, 3)
    kept, weights = copy.deepcopy(optimizer.state_dict()), copy.deepcopy(made.state_dict())
    want = learn(made, optimizer, 3)
    for given, same in ((kept, True), (None, False)):
        other = small()
        other.load_state_dict(weights)
        again = OPTIMIZERS["muon"](other, 1e-2, (0.9, 0.95), 0.1)
        if given is not None:
            again.load_state_dict(copy.deepcopy(given))
        assert (learn(other, again, 3) == want) is same


def test_a_state_of_other_parts_is_refused() -> None:
    alone = MuonAndAdamW([], [{"params": [nn.Parameter(torch.zeros(2))], "weight_decay": 0.0}], 0.1, (0.9, 0.95))
    with pytest.raises(ValueError, match="the state is of muon, adamw, this optimizer has adamw"):
        alone.load_state_dict(OPTIMIZERS["muon"](small(), 1e-2, (0.9, 0.95), 0.1).state_dict())


def test_it_learns_with_the_loss_given_by_a_closure() -> None:
    made = small()
    optimizer = OPTIMIZERS["muon"](made, 1e-2, (0.9, 0.95), 0.0)
    ids = torch.arange(9).expand(4, 9)

    def closure() -> float:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(made(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.item()

    losses = [optimizer.step(closure) or 0.0 for _ in range(100)]
    assert 0 < losses[-1] < 0.05 < 2 < losses[0]
