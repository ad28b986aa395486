"""What the library gets wrong, as tests that must go on failing until it is mended.

Faults of the library `peft` (0.21.2 with transformers 5.23.0), each the smallest snippet: a strict known failure there,
and the same question put to ours, which answers it. docs/findings.md tells of them.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import pytest
import torch
from lazy import lazily
from torch import Tensor, nn

from finetune.errors import BadInput
from finetune.peft import Adapter, LoRA, Prefix, Prompt, inject

pytestmark = [
    pytest.mark.slow,
    # peft 0.21 asks transformers 5.23 by a name that is to go; nothing of ours does.
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"),
    # Finding 14: the library says so, and goes on.
    pytest.mark.filterwarnings("ignore:Token type ids are not supported:UserWarning"),
]
transformers = lazily("transformers")
library = lazily("peft")

SIZES = {
    "vocab_size": 20, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8,
    "max_position_embeddings": 32, "pad_token_id": 0,
}  # fmt: skip
IDS = torch.tensor([[5, 6, 7]])


def known(error: type[BaseException]) -> Any:
    """The library's side of a question: it must fail, in this way."""
    return pytest.param(True, marks=pytest.mark.xfail(strict=True, raises=error), id="library")


OURS = pytest.param(False, id="ours")


def bert(kind: str = "ForSequenceClassification") -> Any:
    torch.manual_seed(0)
    return getattr(transformers, f"Bert{kind}")(transformers.BertConfig(**SIZES)).eval()


def gpt2() -> Any:
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=20,
        n_embd=8,
        n_layer=1,
        n_head=2,
        n_positions=32,
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=None,
    )
    return transformers.GPT2ForSequenceClassification(config).eval()


def adapted(model: Any, method: Any, theirs: bool, **options: Any) -> tuple[Any, Any]:
    """A model with a method of the library or of ours, and what turns it off."""
    if not theirs:
        adapter: Adapter = inject(model, method)
        return model.eval(), adapter.disabled
    kinds = {Prompt: library.PromptTuningConfig, Prefix: library.PrefixTuningConfig, LoRA: library.LoraConfig}
    made = library.get_peft_model(model, kinds[type(method)](**options)).eval()
    return made, made.disable_adapter


def called(model: Any, ids: Tensor, **others: Tensor) -> Tensor:
    with torch.no_grad():
        found = model(input_ids=ids, **others)
    logits: Tensor = found.logits if hasattr(found, "logits") else found.last_hidden_state
    return logits


@pytest.mark.parametrize("theirs", [OURS, known(UnboundLocalError)])
def test_a_prompt_can_be_turned_off(theirs: bool) -> None:
    """disable_adapter() names what it keeps under one condition and puts it back under another."""
    want = called(bert(), IDS)
    model, disabled = adapted(bert(), Prompt(2), theirs, task_type="SEQ_CLS", num_virtual_tokens=2)
    off: AbstractContextManager[Any] = disabled()
    with off:
        assert torch.equal(called(model, IDS), want)


@pytest.mark.parametrize("theirs", [OURS, known(AssertionError)])
def test_a_prefix_is_trained_under_gradient_checkpointing_or_refused(theirs: bool) -> None:
    """Checkpointing, turned on after wrapping, drops past_key_values: the prefix has no gradient, and nobody says so."""
    model, _ = adapted(bert(), Prefix(2), theirs, task_type="SEQ_CLS", num_virtual_tokens=2)
    (model.base_model if theirs else model).activation_checkpointing_enable()
    model.train()
    try:
        model(input_ids=IDS, labels=torch.tensor([1])).loss.backward()
    except BadInput as error:
        assert "the prefix would not be trained" in str(error)
        return
    (own,) = [p for name, p in model.named_parameters() if "prompt_encoder" in name or "prefix_table" in name]
    assert own.grad is not None and own.grad.abs().sum() > 0


@pytest.mark.parametrize("theirs", [OURS, known(AssertionError)])
def test_padding_changes_no_logits_of_a_decoder_with_a_prompt(theirs: bool) -> None:
    """GPT-2's classifier finds its last token by ids; with a prompt it is given vectors, and takes the last place."""
    model, _ = adapted(gpt2(), Prompt(2), theirs, task_type="SEQ_CLS", num_virtual_tokens=2)
    short = called(model, IDS, attention_mask=torch.ones_like(IDS))
    padded = nn.functional.pad(IDS, (0, 2))
    long = called(model, padded, attention_mask=(padded != 0).long())
    assert torch.allclose(short, long, rtol=0, atol=1e3 * 2.0**-24)


@pytest.mark.parametrize("theirs", [OURS, known(AssertionError)])
def test_unmerging_in_bfloat16_gives_the_old_bits_back(theirs: bool) -> None:
    """W + s B A is rounded, and subtracting s B A rounds once more."""
    options: dict[str, Any] = {"task_type": "SEQ_CLS", "r": 2, "target_modules": ["query"]}
    made = bert().bfloat16()
    adapter = None if theirs else inject(made, LoRA(2, targets=("query",)))
    model = library.get_peft_model(made, library.LoraConfig(**options)) if theirs else made
    name, weight = next(
        (n, p) for n, p in model.named_parameters() if "query" in n and n.endswith(("base_layer.weight", "base.weight"))
    )
    torch.manual_seed(1)
    for key, parameter in model.named_parameters():
        if "lora_B" in key:
            parameter.data.normal_()
    before = weight.detach().clone()
    if adapter is None:
        model.merge_adapter()
        model.unmerge_adapter()
    else:
        adapter.merge()
        assert not torch.equal(weight.detach(), before), name
        adapter.unmerge()
    assert torch.equal(weight.detach(), before)


@pytest.mark.parametrize("theirs", [OURS, known(AssertionError)])
def test_segments_count_with_a_prompt(theirs: bool) -> None:
    """An encoder with a prompt reads pairs as if both texts were the first."""
    model, _ = adapted(bert("Model"), Prompt(2), theirs, task_type="FEATURE_EXTRACTION", num_virtual_tokens=2)
    first, second = (called(model, IDS, token_type_ids=torch.full_like(IDS, kind)) for kind in (0, 1))
    assert not torch.equal(first, second)


@pytest.mark.parametrize("theirs", [OURS, known(AssertionError)])
def test_what_stands_between_the_backbone_and_the_logits_is_trained(theirs: bool) -> None:
    """BERT's pooler, new in a checkpoint without one, stays as it was drawn, and is not saved with the adapter."""
    model, _ = adapted(bert(), LoRA(2, targets=("query",)), theirs, task_type="SEQ_CLS", r=2, target_modules=["query"])
    assert any("pooler" in name for name, p in model.named_parameters() if p.requires_grad)


@pytest.mark.parametrize("theirs", [OURS, known(AssertionError)])
def test_disabling_for_a_while_leaves_a_frozen_adapter_frozen(theirs: bool) -> None:
    """An adapter that serves, and is not to be trained, is trained again after `disable_adapter()`."""
    model, off = adapted(
        bert(), LoRA(2, targets=("query",)), theirs, task_type="SEQ_CLS", r=2, target_modules=["query"]
    )
    model.requires_grad_(False)
    with off():
        pass
    assert not any(p.requires_grad for p in model.parameters())
