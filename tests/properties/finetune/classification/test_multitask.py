"""Joint training.

finetune.classification.multitask: L_cls + alpha L_mlm as one formula, in any number of parts, with both sources gone through fairly.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from finetune.classification.multitask import Joint, JointTrainer
from finetune.data.collate import LabelledTexts
from finetune.data.labelled import read_splits
from finetune.data.masked_lm import MaskedTexts
from finetune.data.texts import encode, load_tokenizer
from finetune.errors import BadInput
from finetune.models.classifier import Classifier, MaskedLM, classification_loss, masked_lm_loss
from finetune.models.encoder import Encoder
from finetune.models.huggingface import load_encoder
from finetune.training.config import TrainConfig
from finetune.training.processes import OneProcess
from finetune.training.train import Trainer
from tests.tiny_encoders import write_encoder, write_sst2


class World:
    """A joint model of few numbers in float64 without dropout, and its two sources."""

    def __init__(self, folder: Path) -> None:
        self.folder = write_encoder(folder / "m", layers=1)
        self.tokenizer = load_tokenizer(self.folder)
        train = read_splits(write_sst2(folder / "d", train=14)).train
        encoded = encode(self.tokenizer, train, 20)
        self.labelled = LabelledTexts(encoded, train.labels, self.tokenizer.pad_id)
        self.unlabelled = MaskedTexts(encode(self.tokenizer, train.take(range(9)), 20), self.tokenizer, 1, rate=0.5)

    def model(self) -> Joint:
        torch.manual_seed(0)
        encoder: Encoder = load_encoder(self.folder)
        found = Joint(Classifier(encoder, 2), MaskedLM(encoder)).double().eval()
        for module in found.modules():  # the trainer puts everything into training mode
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
            if hasattr(module, "n_head"):
                module.dropout = 0.0
        return found

    def trained(self, alpha: float, **changes: Any) -> tuple[JointTrainer, list[Tensor]]:
        settings: dict[str, Any] = {
            "epochs": 1, "batch_size": 4, "learning_rate": 0.1, "optimizer": "sgd", "clip": 0.0, "weight_decay": 0.0, **changes
        }  # fmt: skip
        made = self.model()
        found = JointTrainer(
            made, lambda both, batch: classification_loss(both.classifier, batch), self.labelled, self.unlabelled, alpha,
            TrainConfig(**settings), blocks=5, team=OneProcess("cpu"),
        )  # fmt: skip
        found.run()
        return found, [p.detach().clone() for p in made.parameters()]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_step_is_the_formula(world: World) -> None:
    """One step of SGD against autograd on mean L_cls + alpha mean L_mlm, written down."""
    alpha = 0.7
    trainer, moved = world.trained(alpha, batch_size=14)
    peer = world.model()
    labelled = world.labelled.batch(0, world.labelled.order(0, 0, 14))
    asked = trainer.blocks_of_step(0)
    blocks = [world.unlabelled.batch(epoch, torch.tensor([n]).numpy()) for epoch, n in asked]
    cls_sum, cls_count = classification_loss(peer.classifier, labelled)
    pairs = [masked_lm_loss(peer.masked_lm, batch) for batch in blocks]
    mlm = sum(p[0] for p in pairs) / sum(p[1] for p in pairs)
    (cls_sum / cls_count + alpha * mlm).backward()
    for parameter, got in zip(peer.parameters(), moved, strict=True):
        assert parameter.grad is not None
        want = parameter.detach() - 0.1 * parameter.grad
        # float64 through a dozen layers of at most 100 terms each; any fault of the formula is far above.
        torch.testing.assert_close(got, want, rtol=0, atol=1e4 * 2.0**-53)


@pytest.mark.parametrize("parts", [2, 3])
def test_parts_of_a_step_add_up_to_the_whole(world: World, parts: int) -> None:
    """Texts have different numbers of hidden tokens: a mean of the parts' means would be another number."""
    whole, cut = world.trained(0.7)[1], world.trained(0.7, accumulate=parts)[1]
    for one, other in zip(whole, cut, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e4 * 2.0**-53)


def test_without_a_weight_it_is_the_classifier_alone(world: World) -> None:
    trainer, moved = world.trained(0.0)
    alone = world.model()
    settings = TrainConfig(epochs=1, batch_size=4, learning_rate=0.1, optimizer="sgd", clip=0.0, weight_decay=0.0)
    Trainer(alone.classifier, classification_loss, world.labelled, settings, team=OneProcess("cpu")).run()
    assert all(torch.equal(a, b) for a, b in zip(moved, alone.parameters(), strict=True))
    assert trainer.masked_lm_loss == 0


def test_both_losses_reach_the_encoder_and_the_table_stays_one(world: World) -> None:
    trainer, _ = world.trained(1.0)
    joint = trainer.joint
    assert joint.masked_lm._table() is joint.classifier.encoder.tok_emb.weight  # type: ignore[union-attr]
    other = world.trained(0.0)[0].joint
    for name in ("tok_emb.weight", "blocks.0.attn.query.weight"):
        assert not torch.equal(
            joint.classifier.encoder.get_parameter(name), other.classifier.encoder.get_parameter(name)
        )
    assert trainer.masked_lm_loss > 0


def test_the_other_source_is_gone_through_evenly_and_anew(world: World) -> None:
    trainer = world.trained(0.5)[0]
    seen = [block for step in range(9) for block in trainer.blocks_of_step(step)]
    assert len(seen) == 45
    assert Counter(epoch for epoch, _ in seen) == dict.fromkeys(range(5), 9)
    for epoch in range(5):
        assert sorted(n for e, n in seen if e == epoch) == list(range(9))
    assert [n for e, n in seen if e == 0] != [n for e, n in seen if e == 1]


def test_a_source_smaller_than_a_step_is_asked_in_several_epochs(world: World) -> None:
    """Five blocks of two: hidden anew each time, and all of them counted."""
    world.unlabelled = MaskedTexts(encode_two(world), world.tokenizer, 1, rate=0.5)
    trainer, _ = world.trained(0.5)
    assert [epoch for epoch, _ in trainer.blocks_of_step(0)] == [0, 0, 1, 1, 2]


def encode_two(world: World) -> Any:
    first = world.unlabelled.encoded
    return type(first)(first.ids[:2], first.types[:2], first.max_length, 0)


def test_what_cannot_be_trained_together(world: World) -> None:
    one, other = load_encoder(world.folder), load_encoder(world.folder)
    with pytest.raises(BadInput, match="the two heads have different ones"):
        Joint(Classifier(one, 2), MaskedLM(other))
    with pytest.raises(BadInput, match="mlm_alpha must not be negative"):
        world.trained(-1.0)
    team = OneProcess("cpu")
    team.world = 2
    with pytest.raises(BadInput, match="in one process"):
        JointTrainer(
            world.model(), classification_loss, world.labelled, world.unlabelled, 1.0, TrainConfig(), team=team
        )
