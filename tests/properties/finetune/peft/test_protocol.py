"""What every method keeps: disabling restores the model, only what is trainable changes."""

from __future__ import annotations

import pytest
import torch

from finetune.errors import BadInput
from finetune.models.classifier import classification_loss
from finetune.peft import Method, inject
from finetune.training.optimizer import adamw
from tests.properties.adapted_models import (
    EVERY,
    batch,
    called,
    model,
    shaken,
)


@EVERY
def test_only_what_is_trainable_changes_and_it_does_change(method: Method) -> None:
    of = model()
    before = {name: p.detach().clone() for name, p in of.named_parameters()}
    adapter = inject(of, method)
    assert set(adapter.trainable()) == {*adapter.trained, *adapter.own} < set(dict(of.named_parameters()))
    shaken(of)  # B of LoRA starts at 0, and A has no gradient then
    start = {name: p.detach().clone() for name, p in of.named_parameters()}
    of.train()
    optimizer = adamw(of, 1e-2)
    classification_loss(of, batch())[0].backward()
    for name, p in of.named_parameters():
        assert (p.grad is not None) == (name in adapter.trainable()), name
    optimizer.step()
    for name, p in of.named_parameters():
        assert torch.equal(p, start[name]) == (name not in adapter.trainable()), name
        old = name.replace(".base.", ".")
        if old in before and name not in adapter.trainable():
            assert torch.equal(p, before[old])


@EVERY
def test_disabling_restores_the_model_and_then_the_adapter(method: Method) -> None:
    of = model()
    plain = called(of)
    adapter = inject(of, method)
    shaken(of)
    tuned = called(of)
    assert (tuned - plain).abs().max() > 1e-3
    objects = [id(p) for p in of.parameters()]
    with adapter.disabled():
        assert torch.equal(called(of), plain)
        with adapter.disabled():
            assert torch.equal(called(of), plain)
        assert torch.equal(called(of), plain)
        with pytest.raises(BadInput, match="the adapter is disabled"):
            adapter.save("nowhere")
    assert torch.equal(called(of), tuned)
    with pytest.raises(ZeroDivisionError), adapter.disabled():
        _ = 1 / 0
    assert torch.equal(called(of), tuned)
    assert [id(p) for p in of.parameters()] == objects, "an optimizer would train other objects than the model has"
