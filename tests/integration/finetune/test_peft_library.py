"""Ours and the library's, on models of transformers.

finetune.peft against the library `peft`: the same weights give the same outputs and gradients, and each reads the
other's files. Weights go from one to the other through these files alone.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from lazy import lazily
from torch import Tensor

from finetune.peft import LoRA, Method, Prefix, Prompt, inject, load

pytestmark = [
    pytest.mark.slow,
    # peft 0.21 asks transformers 5.23 by a name that is to go; nothing of ours does.
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"),
]
transformers = lazily("transformers")
library = lazily("peft")

V, L, H, E, N = 53, 2, 3, 12, 31
CLOSE = 2.0**-26
"""Half of the digits of float64. The bound in numeric/encoder_error, which holds for either, lies far below it for
models of this size (asserted in test_finetune_transformers), and another formula, scale or place of a prompt changes the
first digits: the tests assert that the adapter itself does."""
BERT = {
    "vocab_size": V, "hidden_size": E, "num_hidden_layers": L, "num_attention_heads": H, "intermediate_size": 19,
    "max_position_embeddings": N, "type_vocab_size": 2, "num_labels": 3,
}  # fmt: skip
GPT2 = {
    "vocab_size": V, "n_embd": E, "n_layer": L, "n_head": H, "n_positions": N, "bos_token_id": None,
    "eos_token_id": None, "pad_token_id": None,
}  # fmt: skip


def base(name: str) -> Any:
    """A model of transformers in float64 and evaluation mode; the same weights every time."""
    made = {
        "bert": lambda: transformers.BertForSequenceClassification(transformers.BertConfig(**BERT)),
        "roberta": lambda: transformers.RobertaForSequenceClassification(transformers.RobertaConfig(**BERT)),
        "distilbert": lambda: transformers.DistilBertForSequenceClassification(
            transformers.DistilBertConfig(
                vocab_size=V, dim=E, n_layers=L, n_heads=H, hidden_dim=19, max_position_embeddings=N, num_labels=3
            )
        ),
        "vectors": lambda: transformers.BertModel(transformers.BertConfig(**BERT), add_pooling_layer=False),
        "gpt2": lambda: transformers.GPT2LMHeadModel(transformers.GPT2Config(**GPT2)),
    }
    model = made[name]().double().eval()
    torch.manual_seed(9)
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            norm = "norm" in key.lower() or ".ln_" in key
            parameter.normal_(1.0 if norm and key.endswith("weight") else 0.0, 0.2)
    return model


def texts() -> dict[str, Tensor]:
    torch.manual_seed(10)
    real = torch.arange(9)[None] < torch.tensor([9, 4, 6])[:, None]
    return {"input_ids": torch.where(real, torch.randint(2, V, (3, 9)), 1), "attention_mask": real.long()}


def result(model: Any, text: int = 0) -> Tensor:
    """What a model gives for the real tokens of the texts, or for the texts; `text` is where these begin."""
    given = texts()
    out = model(**given)
    if "last_hidden_state" in out:
        return out.last_hidden_state[:, text:][given["attention_mask"].bool()]
    return out.logits if out.logits.ndim == 2 else out.logits[:, text:][given["attention_mask"].bool()]


def lora(**options: Any) -> Any:
    return library.LoraConfig(**{"r": 3, "lora_alpha": 5, "task_type": "SEQ_CLS", **options})


def prompt(task: str) -> Any:
    return library.PromptTuningConfig(task_type=task, num_virtual_tokens=4)


def prefix(task: str) -> Any:
    return library.PrefixTuningConfig(task_type=task, num_virtual_tokens=4)


ROWS: list[tuple[str, Any, Method, int]] = [
    ("bert", lambda: lora(target_modules=["query", "dense"]), LoRA(3, 5, targets=("query", "dense")), 0),
    ("roberta", lambda: lora(use_rslora=True), LoRA(3, 5, rank_stabilised=True), 0),
    (
        "distilbert",
        lambda: lora(target_modules=["q_lin", "v_lin"], rank_pattern={"layer.0.attention.q_lin": 5}),
        LoRA(3, 5),
        0,
    ),
    ("gpt2", lambda: lora(task_type="CAUSAL_LM", fan_in_fan_out=True), LoRA(3, 5), 0),
    ("bert", lambda: prompt("SEQ_CLS"), Prompt(4, "all"), 0),
    ("roberta", lambda: prompt("SEQ_CLS"), Prompt(4, "all"), 0),
    ("vectors", lambda: prompt("FEATURE_EXTRACTION"), Prompt(4), 4),
    ("gpt2", lambda: prompt("CAUSAL_LM"), Prompt(4), 4),
    ("bert", lambda: prefix("SEQ_CLS"), Prefix(4), 0),
    ("roberta", lambda: prefix("SEQ_CLS"), Prefix(4), 0),
    ("vectors", lambda: prefix("FEATURE_EXTRACTION"), Prefix(4), 0),
    ("gpt2", lambda: prefix("CAUSAL_LM"), Prefix(4), 0),
]
NAMES = [f"{name}-{method.name}" for name, _, method, _ in ROWS]


def ours_of(name: str) -> str:
    """The name of one of the library's parameters under ours."""
    for part in (".default", ".modules_to_save", ".base_layer"):
        name = name.replace(part, "")
    return name.removeprefix("base_model.").removeprefix("model.")


def shaken(model: Any) -> None:
    """Other values for what is trained, as after training; of float32, in which the library makes prompts."""
    torch.manual_seed(11)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.copy_(torch.randn(parameter.shape) * 0.3)


def gradients(model: Any, text: int) -> dict[str, Tensor]:
    model.zero_grad()
    out = result(model, text)
    (out * torch.linspace(-1, 1, out.numel(), dtype=out.dtype).reshape(out.shape)).sum().backward()
    return {name: p.grad for name, p in model.named_parameters() if p.requires_grad}


@pytest.mark.parametrize(("name", "config", "method", "cut"), ROWS, ids=NAMES)
def test_the_library_s_files_give_its_outputs_and_gradients(
    name: str, config: Any, method: Method, cut: int, tmp_path: Path
) -> None:
    plain = base(name)
    theirs = library.get_peft_model(copy.deepcopy(plain), config()).double().eval()
    shaken(theirs)
    theirs.save_pretrained(tmp_path)
    ours = copy.deepcopy(plain)
    adapter = load(ours, tmp_path)
    got, want = result(ours), result(theirs, cut)
    assert (got - want).abs().max() <= CLOSE * want.abs().max()
    assert (want - result(plain)).abs().max() > 1e-3
    mine, other = gradients(ours, 0), gradients(theirs, cut)
    for key, value in other.items():
        own = adapter.own[0] if "prompt_encoder" in key else ours_of(key)
        assert value.abs().max() > 0, key
        assert (mine[own] - value).abs().max() <= CLOSE * value.abs().max(), key
    left = set(mine) - {adapter.own[0] if "prompt_encoder" in k else ours_of(k) for k in other}
    assert all(".pooler." in key or "pre_classifier" in key for key in left), left


@pytest.mark.parametrize(("name", "config", "method", "cut"), ROWS, ids=NAMES)
def test_the_library_reads_our_files(name: str, config: Any, method: Method, cut: int, tmp_path: Path) -> None:
    ours = base(name)
    adapter = inject(ours, method)
    shaken(ours)
    adapter.save(tmp_path)
    theirs = library.PeftModel.from_pretrained(base(name), tmp_path).double().eval()
    got, want = result(theirs, cut), result(ours)
    assert (got - want).abs().max() <= CLOSE * want.abs().max()
    assert (want - result(base(name))).abs().max() > 1e-3


def test_a_merged_model_is_the_library_s_merged_model(tmp_path: Path) -> None:
    for name in ("bert", "gpt2"):
        ours = base(name)
        adapter = inject(ours, LoRA(3, 5))
        shaken(ours)
        adapter.save(tmp_path / name)
        theirs = library.PeftModel.from_pretrained(base(name), tmp_path / name).merge_and_unload()
        adapter.merge()
        got, want = result(ours), result(theirs)
        assert (got - want).abs().max() <= CLOSE * want.abs().max()


def test_a_prompt_that_leaves_the_pooling_to_the_text_is_refused_there(tmp_path: Path) -> None:
    """The library would pool the prompt's first vector, and give other numbers without a word."""
    ours = base("bert")
    adapter = inject(ours, Prompt(4))
    shaken(ours)
    adapter.save(tmp_path)
    with pytest.raises(KeyError, match="FINETUNE_PROMPT_TEXT_POOLED"):
        library.PeftModel.from_pretrained(base("bert"), tmp_path)
    again = base("bert")
    load(again, tmp_path)
    assert torch.equal(result(again), result(ours))


def test_gpt2_classifiers_pool_the_last_token_of_the_text() -> None:
    """With the library they pool padding, where the text is padded on the right."""
    made = transformers.GPT2Config(**{**GPT2, "pad_token_id": 1}, num_labels=3)
    torch.manual_seed(0)
    model = transformers.GPT2ForSequenceClassification(made).double().eval()
    inject(model, Prompt(4))
    given = texts()
    whole = model(**given).logits
    for row, length in enumerate((9, 4, 6)):
        alone = {k: v[row : row + 1, :length] for k, v in given.items()}
        assert (model(**alone).logits[0] - whole[row]).abs().max() <= CLOSE * whole.abs().max()
