"""What is found in a model: its backbone, its head, its sizes and its task, of ours and of transformers'."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from finetune.errors import BadInput
from finetune.peft.model_parts import (
    backbone_of,
    bind_arguments,
    head_of,
    modules_of,
    sizes_of,
    table_of,
    takes,
    task_of,
)
from tests.properties.adapted_models import E, H, L, V, model


def bert(kind: str, **changes: int) -> nn.Module:
    """A tiny BERT of transformers."""
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        vocab_size=V, hidden_size=E, num_hidden_layers=L, num_attention_heads=H, intermediate_size=8, **changes
    )
    found: nn.Module = getattr(transformers, kind)(config)
    return found


def test_parts_of_our_classifier() -> None:
    ours = model()
    encoder = backbone_of(ours)
    assert encoder is ours.encoder is backbone_of(encoder)
    assert sizes_of(encoder) == (L, H, E // H)
    assert table_of(encoder).weight.shape == (V, E)
    assert task_of(ours) is None
    assert takes(encoder, "input_ids") and not takes(encoder, "labels")
    names = head_of(ours)
    assert names and not any(
        id(p) in {id(q) for q in encoder.parameters()} for n, p in ours.named_parameters() if n in names
    )
    assert head_of(encoder) == []


def test_parts_of_a_classifier_of_transformers() -> None:
    theirs = bert("BertForSequenceClassification")
    backbone = backbone_of(theirs)
    assert type(backbone).__name__ == "BertModel" and sizes_of(backbone) == (L, H, E // H)
    assert task_of(theirs) == "SEQ_CLS" and task_of(backbone) == "FEATURE_EXTRACTION"
    names = head_of(theirs)
    assert {name.split(".")[0] for name in names if not name.startswith("bert.")} == {"classifier"}
    assert any(name.startswith("bert.pooler.") for name in names), "the pooler belongs to the head"
    assert modules_of(theirs, names) == ["bert.pooler", "classifier"]


def test_a_language_model_has_no_head_to_train_anew() -> None:
    theirs = bert("BertForMaskedLM")
    assert head_of(theirs) == []
    assert task_of(theirs) is None, "peft has no word for masked language models"
    assert head_of(bert("BertModel")) == []


def test_fewer_heads_of_keys_and_a_stated_head_size_count() -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=V, hidden_size=12, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2, head_dim=6,
        intermediate_size=8,
    )  # fmt: skip
    assert sizes_of(transformers.LlamaModel(config)) == (1, 2, 6)


def test_what_is_not_a_model_is_refused_in_a_line() -> None:
    layer = nn.Linear(2, 2)
    with pytest.raises(BadInput, match="Linear is neither an encoder of ours nor a model of transformers"):
        backbone_of(layer)
    with pytest.raises(BadInput, match="its configuration does not say its sizes"):
        sizes_of(layer)
    with pytest.raises(BadInput, match="does not tell its table"):
        table_of(layer)


def test_arguments_are_bound_by_name_and_those_of_none_fall_away() -> None:
    class Takes(nn.Module):
        def forward(self, input_ids: torch.Tensor, mask: torch.Tensor | None = None, **kwargs: object) -> None:
            """Nothing."""

    ids = torch.zeros(1, 2)
    assert bind_arguments(Takes(), (ids, None), {"labels": 3, "other": None}) == {"input_ids": ids, "labels": 3}
    assert bind_arguments(Takes(), (), {"mask": ids}) == {"mask": ids}
