"""Files of adapters: what was saved comes back, and what does not fit is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from finetune.errors import BadInput
from finetune.peft import Bias, Head, LoRA, Method, Prefix, Prompt, inject, load
from tests.properties.adapted_models import (
    EVERY,
    called,
    model,
    shaken,
)


@EVERY
def test_what_was_saved_is_had_again_from_the_files_alone(method: Method, tmp_path: Path) -> None:
    of = model()
    adapter = inject(of, method)
    shaken(of)
    adapter.save(tmp_path / "adapter")
    again = model()
    found = load(again, tmp_path / "adapter")
    assert torch.equal(called(again), called(of))
    assert found.trainable() == adapter.trainable()
    size = sum(path.stat().st_size for path in (tmp_path / "adapter").iterdir())
    assert size < 8 * sum(p.numel() for p in of.parameters() if p.requires_grad) + 4000, (
        "more than the adapter is saved"
    )
    # In float32, which the model of a user has.
    single = model().float()
    load(single, tmp_path / "adapter")
    assert all(p.dtype == torch.float32 for p in single.parameters())


def spoilt(**config: Any) -> Callable[[Path], None]:
    def run(folder: Path) -> None:
        path = folder / "adapter_config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **config}))

    return run


FILES: list[tuple[Method, Callable[[Path], object], str]] = [
    (LoRA(2), lambda f: (f / "adapter_config.json").unlink(), "no such file"),
    (LoRA(2), lambda f: (f / "adapter_config.json").write_text("{"), "is not valid JSON"),
    (LoRA(2), lambda f: (f / "adapter_config.json").write_text("3"), "should hold a JSON object, got a int"),
    (
        LoRA(2),
        lambda f: (f / "adapter_model.safetensors").rename(f / "adapter_model.bin"),
        "is a pickle, which can run",
    ),
    (LoRA(2), lambda f: (f / "adapter_model.safetensors").write_bytes(b"12345678"), "may be cut short"),
    (LoRA(2), spoilt(peft_type="IA3"), "peft_type 'IA3' is none of those that are read here"),
    (LoRA(2), spoilt(use_dora=True), "use_dora=True is not supported"),
    (LoRA(2), spoilt(bias="all"), "bias='all' is not supported"),
    (LoRA(2), spoilt(lora_alpha="4"), "lora_alpha should be a number, got '4'"),
    (LoRA(2), spoilt(peft_type="FINETUNE_HEAD"), "base_model.head.weight is missing"),
    (Bias(), spoilt(peft_type="FINETUNE_HEAD"), "it has no place for base_model.encoder"),
    (Prompt(2), spoilt(num_virtual_tokens=3), r"the shape \(2, 12\), but should have \(3, 12\)"),
    (Prompt(2), spoilt(num_virtual_tokens=None), "num_virtual_tokens should be a number, got None"),
    (Prefix(2), spoilt(peft_type="LORA"), "holds no matrix A of LoRA"),
    (Head(), spoilt(peft_type="FINETUNE_BIAS"), "is missing"),
]


@pytest.mark.parametrize(("method", "spoil", "words"), FILES, ids=[words for _, _, words in FILES])
def test_files_that_do_not_fit_are_refused(
    method: Method, spoil: Callable[[Path], object], words: str, tmp_path: Path
) -> None:
    inject(model(), method).save(tmp_path)
    spoil(tmp_path)
    with pytest.raises(BadInput, match=words):
        load(model(), tmp_path)
