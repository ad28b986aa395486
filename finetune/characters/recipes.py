"""The numbers of the assignment: how it pretrains and fine-tunes, and what a file of parameters holds.

A recipe is a `TrainConfig`; anything in it can be changed by name.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from finetune.characters.recipe_numbers import CHARACTERS, EPOCHS_AFTER_PRETRAINING, FINETUNING, PRETRAINING
from finetune.data.span_corruption import Form
from finetune.data.vocabulary import Vocabulary
from finetune.errors import BadInput, prefix_errors
from finetune.models.gpt import GPT, GPTConfig
from finetune.models.mingpt import from_mingpt, load_weights
from finetune.training import checkpoint
from finetune.training.config import TrainConfig


def pretraining(examples: int, block: int, **changes: Any) -> TrainConfig:
    """650 epochs in batches of 128 at a rate of 6e-3; warm-up over 10,240 tokens, decay over 200 N block.

    Args: examples N; block, characters; changes, fields of `TrainConfig`. Returns: the recipe.
    Source: the assignment's run.py; tokens are counted without padding here.
    """
    recipe = TrainConfig(**PRETRAINING, final_tokens=max(200 * examples * block, PRETRAINING["warmup_tokens"] + 1))
    return replace(recipe, **changes)


def finetuning(examples: int, block: int, pretrained: bool, **changes: Any) -> TrainConfig:
    """75 epochs from scratch, 10 after pretraining; batches of 256 at a rate of 6e-4, the rest as `pretraining`."""
    own = {**FINETUNING, **({"epochs": EPOCHS_AFTER_PRETRAINING} if pretrained else {})}
    return pretraining(examples, block, **{**own, **changes})


def character_model(**changes: Any) -> TrainConfig:
    """Batches of 64 at a constant rate of 1e-3, and so many epochs that the minutes end it."""
    return TrainConfig(**{**CHARACTERS, **changes})


def save_parameters(path: str | Path, model: GPT, vocabulary: Vocabulary, form: Form, **config: Any) -> None:
    """Write a model's weights with what is needed to use them: sizes, characters, the form of the strings.

    Raises: BadInput where the file cannot be written.
    """
    tree = {
        "model": model.state_dict(), "config": model.config.to_json(), "form": asdict(form),
        "characters": "".join(vocabulary.characters[2:]), **config,
    }  # fmt: skip
    checkpoint.save(path, tree)


def load_parameters(path: str | Path, config: GPTConfig, vocabulary: Vocabulary) -> GPT:
    """The model of a file: one of `save_parameters`, or of minGPT (safetensors, or torch.save of a state dict).

    Args: path; config, what is expected: its sizes count where the file tells none, its attention always; vocabulary.
    Raises: BadInput where the file is of another attention, other sizes or another vocabulary, holds a number that is
        none, or cannot be read.
    """
    found = checkpoint.load(path)
    saved = found.get("config") if isinstance(found, dict) else None
    if not isinstance(found, dict) or not isinstance(found.get("model"), dict):
        raise BadInput(f"{path} holds no parameters of a model")
    with prefix_errors(path):
        weights = from_mingpt(found["model"])
    if saved is not None:
        if "n_embd" not in saved:
            raise BadInput(f"{path} is the checkpoint of an unfinished run, --checkpoint_path; parameters are wanted")
        own = _sizes(path, saved, weights)
        if own.attention != config.attention:
            raise BadInput(f"{path} holds a {own.attention} model, but the options say {config.attention}")
        if Vocabulary(found.get("characters", "")) != vocabulary:
            raise BadInput(
                f"{path} was made with another corpus: it has {own.vocab_size} characters, this one {len(vocabulary)}"
                + (", and they differ" if own.vocab_size == len(vocabulary) else "")
            )
        config = replace(own, dropout=config.dropout, kernel=config.kernel)
    for name, weight in weights.items():
        if not torch.isfinite(weight).all():
            raise BadInput(f"{path}: {name} holds numbers that are infinite or none")
    model = GPT(config)
    load_weights(model, weights, str(path))
    return model


def _sizes(path: str | Path, config: dict[str, Any], weights: dict[str, Tensor]) -> GPTConfig:
    """The sizes that a file tells. Raises: BadInput where they are not those of a model, or not of its tensors.

    Looked at before a model is made: the sizes of a damaged file may be larger than any machine.
    """
    try:
        own = GPTConfig(**config)
    except (TypeError, ValueError) as error:
        raise BadInput(f"{path} holds sizes that no model can have: {error}") from None
    blocks = len({name.split(".")[1] for name in weights if name.startswith("blocks.")})
    table = tuple(weights["tok_emb.weight"].shape) if "tok_emb.weight" in weights else ()
    places = weights["pos_emb"].shape[1] if "pos_emb" in weights else own.block_size
    if (blocks, table, places) != (own.n_layer, (own.vocab_size, own.n_embd), own.block_size):
        raise BadInput(
            f"{path} describes {own.n_layer} blocks, {own.vocab_size} characters, {own.n_embd} features and "
            f"{own.block_size} places, but its tensors have {blocks} blocks, a table of {table} and {places} places"
        )
    return own
