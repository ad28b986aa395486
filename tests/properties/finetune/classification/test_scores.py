"""Accuracy and loss of a classifier.

finetune.classification.scores: sums over all examples, modes that come back, no gradients.
"""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from finetune.classification.scores import Tally, evaluating, scores


def test_sums_over_all_and_not_means_of_batches() -> None:
    """Batches of 3 and 1: the mean of batch means would be (1/3 + 1) / 2."""
    logits = torch.tensor([[0.0, 9.0], [0.0, 9.0], [0.0, 9.0], [9.0, 0.0]]).double()
    batches = [{"x": logits[:3], "labels": torch.tensor([1, 0, 0])}, {"x": logits[3:], "labels": torch.tensor([0])}]
    found = scores(nn.Identity(), lambda model, batch: model(batch["x"]), batches, torch.device("cpu"))
    right, wrong = math.log1p(math.exp(-9.0)), 9 + math.log1p(math.exp(-9.0))
    assert (found.accuracy, found.count, found.predictions) == (0.5, 4, [1, 1, 1, 0])
    # Four terms of at most 10, each right to a few units of 2^-53.
    assert found.loss == pytest.approx((2 * right + 2 * wrong) / 4, abs=4 * 10 * 8 * 2.0**-53)
    told = found.to_json()
    assert told["accuracy"] == 0.5 and told["examples"] == 4 and told["interval"][0] < 0.5 < told["interval"][1]


def test_modes_come_back_each_its_own() -> None:
    model = nn.Sequential(nn.Dropout(), nn.Sequential(nn.Dropout(), nn.Linear(2, 2)))
    model[1].eval()
    before = [module.training for module in model.modules()]
    with evaluating(model):
        assert not any(module.training for module in model.modules()) and not torch.is_grad_enabled()
    assert [module.training for module in model.modules()] == before == [True, True, False, False, False]
    with pytest.raises(ZeroDivisionError), evaluating(model):
        raise ZeroDivisionError
    assert [module.training for module in model.modules()] == before


def test_an_empty_tally_is_nothing() -> None:
    assert Tally().accuracy == 0 and Tally().loss == 0


def test_the_loss_keeps_its_graph() -> None:
    logits = torch.zeros(2, 2, requires_grad=True)
    Tally().add(logits, torch.tensor([0, 1])).backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None and logits.grad.tolist() == [[-0.5, 0.5], [0.5, -0.5]]


def test_nothing_is_asked_of_the_device_until_a_figure_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each such question waits for the device: with many batches, they are most of a step of a small model."""
    tally, generator = Tally(), torch.Generator().manual_seed(0)
    batches = [(torch.randn(n, 3, generator=generator), torch.arange(n) % 3) for n in (4, 2, 3)]
    asked = []
    with monkeypatch.context() as patch:
        for name in ("item", "tolist", "__int__", "__float__", "__bool__"):
            patch.setattr(torch.Tensor, name, lambda *_, name=name: asked.append(name))
        for logits, labels in batches:
            tally.add(logits, labels)
    assert not asked
    losses = [nn.functional.cross_entropy(logits, labels, reduction="none") for logits, labels in batches]
    assert tally.loss == sum(float(each.double().sum()) for each in losses) / 9
    assert tally.predictions == [n for logits, _ in batches for n in logits.argmax(-1).tolist()]
    assert tally.labels == [0, 1, 2, 0, 0, 1, 0, 1, 2] and tally.count == 9
