"""Classification heads of checkpoints.

finetune.models.heads against transformers: trained classifiers from the same files give the same logits.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from lazy import lazily
from torch import nn

from finetune.errors import BadInput
from finetune.models.heads import load_classifier
from finetune.peft import Head, inject
from tests.integration.finetune.test_transformers import LAYOUTS, made, texts
from tests.numeric.encoder_error import bound

pytestmark = pytest.mark.slow
transformers = lazily("transformers")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_logits_equal_transformers(layout: str, tmp_path: Path) -> None:
    theirs = made(layout, "ForSequenceClassification", tmp_path)
    ours, classes = load_classifier(tmp_path)
    ours = ours.double().eval()
    batch = texts(layout)
    with torch.no_grad():
        got, want = ours(**batch), theirs(**batch).logits
        first = 2 * bound(ours.encoder, batch["input_ids"], batch["attention_mask"], batch.get("token_type_ids"))[:, 0]  # type: ignore[arg-type]
        dense: Any = ours.between[1]  # type: ignore[index]
        # The first token's error goes through two matrices and a function that does not stretch; their own rounding,
        # of sums of 12, is below the encoder's, hence the 2.
        most = 2 * (first @ dense.weight.abs().T @ ours.head.weight.abs().T)
        assert ((got - want).abs() <= most).all() and most.max() < 1e-6 < want.std()
        ours.head.weight[0] += 1e-4
        assert not ((ours(**batch) - want).abs() <= most).all(), "weights that are off by a ten-thousandth are seen"
    assert classes == ("LABEL_0", "LABEL_1")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_dropout_is_where_it_is_there(layout: str, tmp_path: Path) -> None:
    theirs = made(layout, "ForSequenceClassification", tmp_path)
    ours, _ = load_classifier(tmp_path)
    shares = [module.p for module in (*ours.between, ours.drop) if isinstance(module, nn.Dropout)]  # type: ignore[misc]
    twice = layout in ("roberta", "mpnet")
    own = theirs.classifier.dropout if twice else theirs.dropout
    assert set(shares) == {own.p} and len(shares) == 1 + twice


def test_the_layer_between_is_a_part_of_the_head(tmp_path: Path) -> None:
    made("bert", "ForSequenceClassification", tmp_path)
    ours, _ = load_classifier(tmp_path)
    assert set(inject(ours, Head()).trainable()) == {"between.1.weight", "between.1.bias", "head.weight", "head.bias"}


def test_classes_have_their_names(tmp_path: Path) -> None:
    made("distilbert", "ForSequenceClassification", tmp_path)
    told = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**told, "id2label": {"1": "good", "0": "bad"}}))
    assert load_classifier(tmp_path)[1] == ("bad", "good")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"problem_type": "regression"}, "trained for regression, which does not choose among classes"),
        ({"problem_type": "multi_label_classification"}, "does not choose among classes"),
        ({"id2label": {"0": "a", "1": "b", "2": "c"}}, "id2label names the classes 0, 1, 2, but the head has 2"),
        ({"classifier_dropout": 1.5}, "dropout of the head should be at least 0 and below 1, got 1.5"),
        ({"intermediate_size": 20}, "do not fit its config"),
    ],
)
def test_what_is_no_classifier_is_refused(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    made("bert", "ForSequenceClassification", tmp_path)
    told = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**told, **changes}))
    with pytest.raises(BadInput, match=words):
        load_classifier(tmp_path)


def test_heads_that_are_not_there_or_of_one_output(tmp_path: Path) -> None:
    made("bert", "Model", tmp_path)
    with pytest.raises(BadInput, match="holds no trained head of a classifier"):
        load_classifier(tmp_path)
    config = transformers.BertConfig(
        vocab_size=20, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8, num_labels=1
    )
    transformers.BertForSequenceClassification(config).save_pretrained(tmp_path)
    with pytest.raises(BadInput, match="a regression"):
        load_classifier(tmp_path)
