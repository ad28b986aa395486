"""What is found in a model, ours or one of transformers: its backbone, its head, its sizes, the task it is for."""

from __future__ import annotations

import inspect
from typing import Any, cast

from torch import nn

from finetune.errors import BadInput
from finetune.models.classifier import Classifier, MaskedLM
from finetune.models.encoder import Encoder

TASKS = {
    "ForSequenceClassification": "SEQ_CLS",
    "ForTokenClassification": "TOKEN_CLS",
    "ForQuestionAnswering": "QUESTION_ANS",
    "ForCausalLM": "CAUSAL_LM",
    "LMHeadModel": "CAUSAL_LM",
}
"""Ends of the names of transformers' classes, and what `peft` calls their tasks."""


def task_of(model: nn.Module) -> str | None:
    """The task of a model of transformers in the words of `peft`; None where it has no word for it."""
    if isinstance(model, Encoder | Classifier | MaskedLM):
        return None
    name = type(model).__name__
    found = [task for end, task in TASKS.items() if name.endswith(end)]
    return found[0] if found else ("FEATURE_EXTRACTION" if backbone_of(model) is model else None)


def backbone_of(model: nn.Module) -> nn.Module:
    """The part that turns tokens into vectors; a model without a head is its own.

    Raises: BadInput where none can be found.
    """
    if isinstance(model, Classifier | MaskedLM):
        return backbone_of(model.encoder)
    if isinstance(model, Encoder):
        return model
    base = getattr(model, "base_model", None)
    if not isinstance(base, nn.Module):
        raise BadInput(f"{type(model).__name__} is neither an encoder of ours nor a model of transformers")
    return base


def head_of(model: nn.Module) -> list[str]:
    """The names of the head's parameters: what stands outside of the backbone, and the pooler after it.

    The output table of a language model, and the layers that lead to it, are not heads to train anew.
    """
    backbone = backbone_of(model)
    if (
        backbone is model
        or isinstance(model, MaskedLM)
        or getattr(model, "get_output_embeddings", lambda: None)() is not None
    ):
        return []
    inside = {id(p) for p in backbone.parameters()}
    pooler = getattr(backbone, "pooler", None)
    if isinstance(pooler, nn.Module):
        inside -= {id(p) for p in pooler.parameters()}
    return [name for name, p in model.named_parameters() if id(p) not in inside]


def modules_of(model: nn.Module, names: list[str]) -> list[str]:
    """The outermost modules that hold some parameters and no others, such as `classifier` and `bert.pooler`."""
    head = set(names)
    found: list[str] = []
    for name, module in model.named_modules():
        own = [f"{name}.{key}" for key, _ in module.named_parameters()]
        if own and set(own) <= head and not any(name.startswith(f"{other}.") for other in found):
            found.append(name)
    return found


def sizes_of(backbone: nn.Module) -> tuple[int, int, int]:
    """Layers, heads of keys and values, and features of a head. Raises: BadInput where the configuration lacks one."""
    config: Any = getattr(backbone, "config", None)
    if isinstance(backbone, Encoder):
        return config.n_layer, config.n_head, config.n_embd // config.n_head
    try:
        heads = config.num_attention_heads
        size = getattr(config, "head_dim", None) or config.hidden_size // heads
        return config.num_hidden_layers, getattr(config, "num_key_value_heads", None) or heads, size
    except AttributeError as error:
        raise BadInput(f"{type(backbone).__name__}: its configuration does not say its sizes ({error})") from None


def table_of(backbone: nn.Module) -> nn.Embedding:
    """The table of token vectors. Raises: BadInput where the model has none that it tells of."""
    getter = getattr(backbone, "get_input_embeddings", None)
    found = getter() if callable(getter) else None
    if not isinstance(found, nn.Embedding):
        raise BadInput(f"{type(backbone).__name__} does not tell its table of token vectors")
    return found


def takes(backbone: nn.Module, argument: str) -> bool:
    """Whether a call of a model has an argument of this name."""
    return argument in inspect.signature(backbone.forward).parameters


def bind_arguments(backbone: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by their names, without those that are None."""
    bound = inspect.signature(backbone.forward).bind_partial(*args, **kwargs).arguments
    rest = cast(dict[str, Any], bound.pop("kwargs", {}))
    return {name: value for name, value in {**bound, **rest}.items() if value is not None}
