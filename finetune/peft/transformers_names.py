"""Adapters of our encoder under the names of transformers' models, for the library `peft`, and back.

The encoder's part alone goes over: heads differ (ours has no pooler), and stay where they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import nn

from finetune.errors import BadInput
from finetune.models.encoder import Encoder
from finetune.models.huggingface import modules_of
from finetune.peft.files import Saved, write_adapter
from finetune.peft.model_parts import backbone_of
from finetune.peft.protocol import Adapter

PREFIX = "base_model.model."
"""What `peft` puts before the names of a model's modules."""
LIBRARY = {"lora": "LORA", "prompt": "PROMPT_TUNING", "prefix": "PREFIX_TUNING"}
"""The methods that the library has, and its words for them."""


def theirs(model: nn.Module) -> dict[str, str]:
    """The modules of our encoder, as the model around it names them, and what transformers calls them in its own.

    Raises: BadInput where the model has no encoder of ours.
    """
    backbone = backbone_of(model)
    if not isinstance(backbone, Encoder):
        raise BadInput(f"{type(backbone).__name__} has the names of transformers already")
    place = next(name for name, module in model.named_modules() if module is backbone)
    layout = "bert" if backbone.config.segments else "distilbert"  # RoBERTa's modules have BERT's names
    if backbone.config.distances:
        layout = "mpnet"
    table = modules_of(layout, backbone.config.n_layer)
    return {f"{place}.{own}" if place else own: name for name, own in table.items()}


def export(adapter: Adapter, folder: str | Path) -> None:
    """Write an adapter in our encoder as `peft` reads it for an AutoModel of transformers with the same weights.

    LoRA, prompts and prefixes; what they compute is the same at every real token.

    Raises: BadInput for another method, another model, or where a file cannot be written.
        peft.PeftModel.from_pretrained(AutoModel.from_pretrained(name), "out").
    """
    name = adapter.method.name
    if name not in LIBRARY:
        raise BadInput(f"the library peft has no {name}: only {', '.join(LIBRARY)} can be exported")
    table = theirs(adapter.model)
    config: dict[str, Any] = {
        **adapter.config(), "peft_type": LIBRARY[name], "task_type": "FEATURE_EXTRACTION", "inference_mode": True,
        "base_model_name_or_path": None, "modules_to_save": None,
    }  # fmt: skip
    if name == "prompt":  # what the library would look up under names that DistilBERT has not
        backbone: Any = backbone_of(adapter.model)
        config |= {"num_layers": backbone.config.n_layer, "num_attention_heads": backbone.config.n_head}
    if name == "lora":
        config["target_modules"] = [table[module] for module in config["target_modules"]]
        config["rank_pattern"] = {table[module]: rank for module, rank in config["rank_pattern"].items()}
    write_adapter(folder, config, {_rename(key, table): value for key, value in adapter.tensors().items()})


def own_names(saved: Saved, model: nn.Module) -> Saved:
    """An adapter for a model of transformers under the names of our encoder, where the model has one; else as it is."""
    if not isinstance(backbone_of(model), Encoder):
        return saved
    table = {name: own for own, name in theirs(model).items()}
    return replace(saved, tensors={_rename(key, table): value for key, value in saved.tensors.items()})


def _rename(key: str, table: Mapping[str, str]) -> str:
    """A tensor's name with its module's other name in it; as it is where the module is none of the table."""
    module, mark, rest = key.removeprefix(PREFIX).partition(".lora_")
    # A classifier of transformers has its encoder one deeper.
    for outer in ("", "bert.", "roberta.", "distilbert.", "mpnet."):
        if mark and module.startswith(outer) and module.removeprefix(outer) in table:
            return f"{PREFIX}{table[module.removeprefix(outer)]}{mark}{rest}"
    return key
