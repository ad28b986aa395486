"""Trained classification heads of Hugging Face's checkpoints: what stands between the first token and the logits.

BERT has its pooler there, DistilBERT, RoBERTa and MPNet a layer of their own; the rest is a `Classifier`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from finetune.errors import BadInput
from finetune.models.classifier import Classifier
from finetune.models.encoder import Encoder
from finetune.models.huggingface import read_config, read_json, renamed_tensors
from finetune.models.weights import put_weights

LAYERS: Mapping[str, tuple[str, str, type[nn.Module]]] = {
    "bert": ("pooler.dense", "classifier", nn.Tanh),
    "roberta": ("classifier.dense", "classifier.out_proj", nn.Tanh),
    "distilbert": ("pre_classifier", "classifier", nn.ReLU),
    "mpnet": ("classifier.dense", "classifier.out_proj", nn.Tanh),
}
"""By layout: the names of the layer between and of the last one, and what follows the former."""


def load_classifier(folder: str | Path) -> tuple[Classifier, tuple[str, ...]]:
    """The classifier in a folder as Hugging Face writes it (BertForSequenceClassification, say), and its classes.

    Its logits equal those of transformers up to rounding, in evaluation mode.

    Args: folder, with config.json and model.safetensors.
    Raises: BadInput where there is no such head, it is of another kind (regression, several labels), or does not fit.
    Source: transformers, models/{bert,roberta,distilbert,mpnet}, the classes that end with ForSequenceClassification.
    """
    layout, config = read_config(folder)
    written = read_json(Path(folder) / "config.json")
    problem = written.get("problem_type") or "single_label_classification"
    if problem != "single_label_classification":
        raise BadInput(f"{folder} was trained for {problem}, which does not choose among classes")
    ours, others = renamed_tensors(folder, layout, config)
    inner, outer, activation = LAYERS[layout]
    head = _layer(folder, others, outer)
    dense = _layer(folder, others, inner)
    classes = _classes(written, len(head["weight"]))
    dropout = _dropout(written, layout)
    E = config.n_embd
    # RoBERTa and MPNet drop before their layer, too.
    first = nn.Dropout(dropout) if layout in ("roberta", "mpnet") else nn.Identity()
    between = nn.Sequential(first, nn.Linear(E, E), activation())
    model = Classifier(Encoder(config), max(len(classes), 2), dropout=dropout, between=between)
    state = {f"encoder.{name}": value for name, value in ours.items()}
    state |= {f"head.{kind}": value for kind, value in head.items()}
    state |= {f"between.1.{kind}": value for kind, value in dense.items()}
    put_weights(model, state, f"the tensors in {folder} do not fit its config.json")
    return model, classes


def _layer(folder: str | Path, tensors: Mapping[str, Tensor], name: str) -> dict[str, Tensor]:
    """Weight and bias of a linear layer. Raises: BadInput where one is absent."""
    found = {kind: tensors[f"{name}.{kind}"] for kind in ("weight", "bias") if f"{name}.{kind}" in tensors}
    if len(found) != 2:
        raise BadInput(f"{folder} holds no trained head of a classifier ({name} is missing): make a Classifier anew")
    return found


def _classes(config: Mapping[str, Any], count: int) -> tuple[str, ...]:
    """The names of the classes, or their numbers. Raises: BadInput where there is one alone, or names do not fit."""
    if count < 2:
        raise BadInput(f"a head with {count} output is a regression, not a classifier")
    names = config.get("id2label")
    if not isinstance(names, dict):
        return tuple(f"LABEL_{n}" for n in range(count))
    if sorted(names) != sorted(str(n) for n in range(count)):
        raise BadInput(f"id2label names the classes {', '.join(sorted(names))}, but the head has {count}")
    return tuple(str(names[str(n)]) for n in range(count))


def _dropout(config: Mapping[str, Any], layout: str) -> float:
    """The share that the head drops: its own where the configuration has one, else that of the layers."""
    own = config.get("seq_classif_dropout", 0.2) if layout == "distilbert" else config.get("classifier_dropout")
    share = config.get("hidden_dropout_prob", 0.1) if own is None else own
    if not isinstance(share, int | float) or not 0 <= share < 1:
        raise BadInput(f"the dropout of the head should be at least 0 and below 1, got {share!r}")
    return float(share)
