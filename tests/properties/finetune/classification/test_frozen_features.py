"""Features of a frozen encoder.

finetune.classification.frozen_features: what the frozen encoder makes of texts, kept under a key that changes with all it depends on.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from finetune.classification.frozen_features import Features, OnFeatures, features, features_key, weights_digest
from finetune.data.collate import LabelledTexts
from finetune.data.labelled import read_splits
from finetune.data.texts import encode, load_tokenizer
from finetune.errors import BadInput
from finetune.models.classifier import Classifier
from finetune.models.huggingface import load_encoder
from tests.tiny_encoders import write_encoder, write_sst2

CPU = torch.device("cpu")


@pytest.fixture
def classifier(tmp_path: Path) -> Classifier:
    return Classifier(load_encoder(write_encoder(tmp_path / "m")), 2, pool="mean").train()


@pytest.fixture
def texts(tmp_path: Path, classifier: Classifier) -> LabelledTexts:
    tokenizer = load_tokenizer(tmp_path / "m")
    train = read_splits(write_sst2(tmp_path / "d", train=21)).train
    return LabelledTexts(encode(tokenizer, train, 12), train.labels, tokenizer.pad_id)


def test_the_head_reads_what_it_would_read_in_the_model(classifier: Classifier, texts: LabelledTexts) -> None:
    """In evaluation; padded in other batches, so equal up to rounding."""
    found, there = features(classifier, texts, "t", folder=None, device=CPU, batch_size=4)
    assert not there and len(found) == 21 and classifier.training, "modes are left as they were"
    classifier.eval()
    batch = texts.batch(0, np.arange(21))
    whole = classifier(**{k: v for k, v in batch.items() if k != "labels"})
    mine = OnFeatures(classifier)(found.batch(0, np.arange(21))["features"])
    # Two layers over 16 features: some hundred roundings of numbers below 10.
    torch.testing.assert_close(mine, whole, rtol=0, atol=1000 * 10 * 2.0**-24)
    assert found.batch(0, np.array([3, 1]))["labels"].tolist() == [texts.labels[3], texts.labels[1]]
    assert {p.data_ptr() for p in OnFeatures(classifier).parameters()} == {
        p.data_ptr() for p in classifier.head.parameters()
    }


def test_they_are_kept_and_read_again_bit_for_bit(tmp_path: Path, classifier: Classifier, texts: LabelledTexts) -> None:
    first, before = features(classifier, texts, "t", folder=tmp_path / "c", device=CPU)
    calls: list[int] = []
    classifier.encoder.register_forward_hook(lambda *_: calls.append(1))
    again, there = features(classifier, texts, "t", folder=tmp_path / "c", device=CPU)
    assert (before, there, calls) == (False, True, []) and torch.equal(first.vectors, again.vectors)


def test_the_key_sees_everything_they_depend_on(tmp_path: Path, classifier: Classifier, texts: LabelledTexts) -> None:
    key = features_key(classifier, texts, "t")
    other_texts = LabelledTexts(replace(texts.encoded, ids=[row[::-1] for row in texts.encoded.ids]), texts.labels, 0)
    assert len({
        key,
        features_key(classifier, texts, "another tokenizer"),
        features_key(classifier, other_texts, "t"),
        features_key(classifier, LabelledTexts(texts.encoded, texts.labels, 0, types=False), "t"),
        features_key(classifier, LabelledTexts(texts.encoded, texts.labels, 0, side="left"), "t"),
        features_key(classifier, LabelledTexts(texts.encoded, texts.labels, 1), "t"),
        features_key(Classifier(classifier.encoder, 2, pool="first"), texts, "t"),
    }) == 7  # fmt: skip
    assert features_key(classifier, LabelledTexts(texts.encoded, [0] * 21, 0), "t") == key, "labels do not matter"
    with torch.no_grad():
        classifier.head.weight.add_(1)
    assert features_key(classifier, texts, "t") == key, "nor does the head"
    with torch.no_grad():
        next(classifier.encoder.parameters())[3, 2] += 2.0**-20
    assert features_key(classifier, texts, "t") != key


def test_weights_of_another_kind_or_name_are_others() -> None:
    one = torch.nn.Linear(2, 2)
    before = weights_digest(one)
    assert weights_digest(torch.nn.Sequential(one)) != before
    assert weights_digest(one.double()) != before
    scalar = torch.nn.Module()
    scalar.register_buffer("n", torch.tensor(3))
    assert weights_digest(scalar) != before


@pytest.mark.parametrize("damage", [b"", b"not a file", None])
def test_a_damaged_file_is_made_anew(
    tmp_path: Path, classifier: Classifier, texts: LabelledTexts, damage: bytes | None
) -> None:
    first, _ = features(classifier, texts, "t", folder=tmp_path, device=CPU)
    (path,) = tmp_path.glob("*.features")
    path.write_bytes(path.read_bytes()[:-7] if damage is None else damage)
    again, there = features(classifier, texts, "t", folder=tmp_path, device=CPU)
    assert not there and torch.equal(first.vectors, again.vectors)
    assert features(classifier, texts, "t", folder=tmp_path, device=CPU)[1]


def test_what_cannot_be_kept_is_told(tmp_path: Path, classifier: Classifier, texts: LabelledTexts) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="cannot be made"):
        features(classifier, texts, "t", folder=tmp_path / "file" / "c", device=CPU)
    with pytest.raises(BadInput, match="2 vectors do not go together with 3 labels"):
        Features(torch.zeros(2, 4), [0, 1, 0])
