"""Low-rank adapters: nothing changes at first, and merging is exact."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from finetune.models.classifier import Classifier
from finetune.peft import LoRA, inject
from finetune.peft.lora import LoRAAdapter
from tests.properties.adapted_models import (
    E,
    called,
    encoder_bound,
    model,
    shaken,
)

# --- LoRA ---------------------------------------------------------------------------------------------


def lora(**options: Any) -> tuple[Classifier, LoRAAdapter]:
    of = model()
    adapter = inject(of, LoRA(**{"rank": 3, **options}))
    assert isinstance(adapter, LoRAAdapter)
    return of, adapter


def test_lora_changes_nothing_at_first() -> None:
    of, adapter = lora()
    assert torch.equal(called(of), called(model()))
    assert all(layer.lora_A.weight.abs().max() > 0 for layer in adapter.layers.values())


@pytest.mark.parametrize("targets", [("query", "value"), ("0", "2")], ids=["square", "wide and narrow"])
@pytest.mark.parametrize(("stabilised", "scale"), [(False, 5 / 3), (True, 5 / 3**0.5)])
def test_merged_equals_unmerged(targets: tuple[str, ...], stabilised: bool, scale: float) -> None:
    of, adapter = lora(alpha=5.0, targets=targets, rank_stabilised=stabilised)
    shaken(of)
    bits = {name: p.detach().clone() for name, p in of.named_parameters()}
    apart = called(of)
    adapter.merge()
    together = called(of)
    plain = model()
    for name, layer in adapter.layers.items():
        matrix = layer.lora_B.weight @ layer.lora_A.weight
        with torch.no_grad():
            plain.get_submodule(name).weight += scale * matrix
    with torch.no_grad():
        plain.head.load_state_dict(of.head.state_dict())
    # The same function, its matrices rounded once more each: the errors of a forward pass bound what that does, since
    # they hold a term of gamma_(K + 2) for every entry of every matrix.
    most = 4 * float(of.head.weight.detach().abs().sum(1).max()) * float(encoder_bound(plain))
    assert most < 1e-5 < 1e-2 < (apart - called(model())).abs().max()
    assert (apart - together).abs().max() <= most
    assert (called(plain) - together).abs().max() <= most
    adapter.merge()
    assert torch.equal(called(of), together), "merged twice"
    with adapter.disabled():
        assert (called(of) - called(model())).abs().max() == 0
    assert torch.equal(called(of), together)
    adapter.unmerge()
    adapter.unmerge()
    assert torch.equal(called(of), apart)
    assert all(torch.equal(p, bits[name]) for name, p in of.named_parameters())


def test_unmerging_gives_the_bits_back_in_two_bytes_too() -> None:
    """Subtracting what was added rounds twice, and drifts."""
    of = model().bfloat16()
    adapter = inject(of, LoRA(3))
    shaken(of)
    bits = {name: p.detach().clone() for name, p in of.named_parameters()}
    adapter.merge()
    assert not all(torch.equal(p, bits[name]) for name, p in of.named_parameters())
    adapter.unmerge()
    assert all(torch.equal(p, bits[name]) for name, p in of.named_parameters())


def test_what_is_merged_is_saved_unmerged(tmp_path: Path) -> None:
    of, adapter = lora()
    shaken(of)
    adapter.save(tmp_path / "apart")
    adapter.merge()
    adapter.save(tmp_path / "together")
    for name in ("adapter_config.json", "adapter_model.safetensors"):
        assert (tmp_path / "apart" / name).read_bytes() == (tmp_path / "together" / name).read_bytes()


def test_dropout_is_on_what_goes_into_the_product_alone() -> None:
    of, adapter = lora(dropout=0.5)
    shaken(of)
    layer = next(iter(adapter.layers.values()))
    x = torch.ones(4, E).double()
    assert torch.equal(layer(x), layer(x))
    layer.train()
    assert not torch.equal(layer(x), layer(x))
    with torch.no_grad():
        layer.lora_B.weight.zero_()
    assert torch.equal(layer(x), layer.base(x))
