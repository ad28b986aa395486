"""What stands between a classifier and its laws.

finetune.laws.classifier.logits_probe: logits of whatever a model returns, arguments that it takes, gradients as autograd gives
them.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from finetune.laws.classifier.logits_probe import FROZEN, WITH, WITHOUT, logits_of, make_target

Z = torch.tensor([[1.0, 2.0]])


@pytest.mark.parametrize(
    "found", [Z, (Z, None), {"logits": Z}, SimpleNamespace(logits=Z), (SimpleNamespace(logits=Z), 3)]
)
def test_logits_are_found_in_what_a_model_returns(found: Any) -> None:
    assert logits_of(found) is Z


class Bag(nn.Module):
    """The mean of word vectors; one parameter is frozen, one is not used."""

    def __init__(self, vocab_size: int, length: int, classes: int) -> None:
        super().__init__()
        self.words, self.head = nn.Embedding(vocab_size, 3), nn.Linear(3, classes)
        self.idle = nn.Parameter(torch.zeros(2))
        self.head.bias.requires_grad_(False)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor]:
        real = attention_mask[..., None]
        return (self.head((self.words(input_ids) * real).sum(1) / real.sum(1)),)


class Open(Bag):
    def forward(self, **batch: Tensor) -> Any:  # type: ignore[override]
        self.seen = set(batch)
        return super().forward(batch["input_ids"], batch["attention_mask"])


def test_a_model_is_given_what_it_takes() -> None:
    batch = {name: torch.ones(2, 3).long() for name in ("input_ids", "attention_mask", "token_type_ids")}
    assert make_target(Bag)(5, 4, 2)(**batch).shape == (2, 2)
    model = make_target(Open)(5, 4, 2)
    model(**batch)
    assert model.model.seen == set(batch)  # type: ignore[union-attr]  # an Open


@torch.no_grad()
def test_gradients_are_those_of_the_summed_cross_entropy() -> None:
    """Also where no graph is asked for, as the engine calls it; the model is left without gradients."""
    torch.manual_seed(0)
    model: Any = make_target(Bag)(5, 4, 2)
    batch = {"input_ids": torch.tensor([[1, 2, 3], [4, 1, 0]]), "attention_mask": torch.tensor([[1, 1, 1], [1, 1, 0]])}
    labels = torch.tensor([0, 1])
    flat, flags = model.gradients(labels, **batch)
    names = [name for name, _ in model.named_parameters()]
    assert dict(zip(names, flags.tolist(), strict=True)) == {
        "model.idle": WITHOUT, "model.words.weight": WITH, "model.head.weight": WITH, "model.head.bias": FROZEN,
    }  # fmt: skip
    assert len(flat) == sum(p.numel() for p in model.parameters())
    assert all(p.grad is None for p in model.parameters())
    with torch.enable_grad():
        loss = nn.functional.cross_entropy(model(**batch), labels, reduction="sum")
        words, head = torch.autograd.grad(loss, [model.model.words.weight, model.model.head.weight])
    want = torch.cat([torch.zeros(2), words.flatten(), head.flatten(), torch.zeros(2)])
    assert torch.equal(flat, want)


def test_a_model_without_any_graph_has_no_gradient() -> None:
    class Still(Bag):
        def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Any:
            return super().forward(input_ids, attention_mask)[0].detach()

    model: Any = make_target(Still)(5, 4, 2)
    ones = torch.ones(1, 3).long()
    flat, flags = model.gradients(torch.tensor([1]), input_ids=ones, attention_mask=ones)
    assert not flat.any() and set(flags.tolist()) == {WITHOUT, FROZEN}
