"""Adapters go over to the library `peft` and come back.

finetune.peft.transformers_names: adapters of our encoder in the hands of the library, on transformers' model, and back.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from lazy import lazily
from torch import Tensor

from finetune.errors import BadInput
from finetune.models.classifier import Classifier
from finetune.models.huggingface import load_encoder
from finetune.peft import Head, LoRA, Method, Prompt, export, inject, load
from tests.integration.finetune.test_peft_library import CLOSE
from tests.integration.finetune.test_transformers import LAYOUTS, made, texts

pytestmark = [
    pytest.mark.slow,
    # peft 0.21 asks transformers 5.23 by a name that is to go; nothing of ours does.
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"),
]
transformers = lazily("transformers")
library = lazily("peft")


def shaken(model: torch.nn.Module) -> None:
    torch.manual_seed(2)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.normal_(0.0, 0.3)


def vectors(model: Any, batch: dict[str, Tensor], cut: int = 0) -> Tensor:
    """The vectors of real tokens, of a model of either kind; the first `cut` places are those of a prompt."""
    with torch.no_grad():
        found = model(**batch)
    x: Tensor = (found if isinstance(found, Tensor) else found.last_hidden_state)[:, cut:]
    return x[batch["attention_mask"].bool()]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("method", [LoRA(3), LoRA(2, rank_stabilised=True, targets=("key", "0")), Prompt(4)])
def test_the_library_computes_what_we_do(layout: str, method: Method, tmp_path: Path) -> None:
    theirs = made(layout, "Model", tmp_path / "base")
    ours = Classifier(load_encoder(tmp_path / "base"), 2).double().eval()
    batch = texts(layout)
    if isinstance(method, Prompt):
        batch.pop("token_type_ids", None)  # with a prompt the library ignores segments here, and warns
    before = vectors(ours.encoder, batch)
    adapter = inject(ours, method)
    shaken(ours)
    export(adapter, tmp_path / "out")
    there = library.PeftModel.from_pretrained(theirs, tmp_path / "out").double().eval()
    got, want = vectors(ours.encoder, batch), vectors(there, batch, 4 if isinstance(method, Prompt) else 0)
    assert (got - want).abs().max() <= CLOSE * want.abs().max() < (got - before).abs().max()
    back = Classifier(load_encoder(tmp_path / "base"), 2).double().eval()
    inner = load(back.encoder, tmp_path / "out")
    assert torch.equal(vectors(back.encoder, batch), got) and inner.method.name == method.name


def test_an_adapter_of_the_library_comes_to_our_encoder(tmp_path: Path) -> None:
    theirs = made("bert", "Model", tmp_path / "base")
    config = library.LoraConfig(
        task_type="FEATURE_EXTRACTION", r=2, target_modules=["query", "dense"], exclude_modules=r".*pooler.*"
    )
    there = library.get_peft_model(theirs, config).double().eval()
    shaken(there)
    there.save_pretrained(tmp_path / "out")
    ours = load_encoder(tmp_path / "base").double().eval()
    load(ours, tmp_path / "out")
    want = vectors(there, texts("bert"))
    assert (vectors(ours, texts("bert")) - want).abs().max() <= CLOSE * want.abs().max()


def test_what_cannot_go_over(tmp_path: Path) -> None:
    theirs = made("bert", "Model", tmp_path / "base")
    ours = Classifier(load_encoder(tmp_path / "base"), 2)
    with pytest.raises(BadInput, match="the library peft has no head"):
        export(inject(ours, Head()), tmp_path / "out")
    with pytest.raises(BadInput, match="has the names of transformers already"):
        export(inject(theirs, LoRA()), tmp_path / "out")
