"""Tiny fine-tunes that must overfit.

Ten questions are learnt by heart by every form of attention; with any fault of training the same check fails.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from finetune.characters.evaluate import answers
from finetune.data.names import NamePlaces
from finetune.data.span_corruption import Form
from finetune.data.vocabulary import Vocabulary
from finetune.data.world import world
from finetune.faults import training as faults
from finetune.models.gpt import ATTENTIONS, GPT, GPTConfig, mean_loss, next_token_loss
from finetune.training.config import TrainConfig
from finetune.training.train import Trainer

WORLD = world(0, taught=10, asked=1, unknown=0)
QUESTIONS, PLACES = [p.question for p in WORLD.taught], [p.place for p in WORLD.taught]


def overfit(attention: str, trainer: Any = Trainer, loss: Any = next_token_loss) -> None:
    """Ten examples to a loss below 0.05 nats a character, and exact answers. Raises: AssertionError where not."""
    vocabulary, form = Vocabulary.from_text(WORLD.text), Form(32)
    torch.manual_seed(0)
    model = GPT(GPTConfig(len(vocabulary), 32, 2, 4, 48, attention))
    source = NamePlaces(vocabulary, QUESTIONS, PLACES, form)
    config = TrainConfig(
        epochs=120, batch_size=10, learning_rate=1e-2, warmup_tokens=700, final_tokens=9600, log_every=120
    )
    trainer(model, loss, source, config).run()
    reached = mean_loss(model, [{"x": source.x, "y": source.y}])
    assert reached < 0.05, f"got a loss of {reached:.3f}, but should be below 0.05"
    given = [a.text for a in answers(model, vocabulary, QUESTIONS)]
    assert given == PLACES


@pytest.mark.thorough(keep=("vanilla",))
@pytest.mark.parametrize("attention", ATTENTIONS)
def test_ten_examples_are_learnt_by_heart(attention: str) -> None:
    overfit(attention)


@pytest.mark.thorough(leave_out=("RateOfAnotherOptimizer",))
@pytest.mark.parametrize("trainer", faults.TRAINERS)
def test_a_faulty_trainer_does_not_learn_them(trainer: Any) -> None:
    with pytest.raises(AssertionError, match="but should be below"):
        overfit("vanilla", trainer)


@pytest.mark.thorough(keep=("unshifted",))
@pytest.mark.parametrize("loss", faults.LOSSES)
def test_a_faulty_loss_does_not_teach_them(loss: Any) -> None:
    with pytest.raises(AssertionError, match="but should be below"):
        overfit("vanilla", loss=loss)


def gradient_norms(trainer: Any) -> list[float]:
    """Of four steps over the same examples at a rate of 0, without dropout: nothing changes between them."""
    vocabulary = Vocabulary.from_text(WORLD.text)
    torch.manual_seed(0)
    model = GPT(GPTConfig(len(vocabulary), 32, 1, 2, 16, dropout=0.0))
    source = NamePlaces(vocabulary, QUESTIONS, PLACES, Form(32))
    records: list[Any] = []
    config = TrainConfig(epochs=4, batch_size=10, learning_rate=0.0, clip=0.0, log_every=1)
    trainer(model, next_token_loss, source, config, sinks=[records.append]).run()
    return [record["gradient_norm"] for record in records]


def forgets(trainer: Any) -> None:
    """Earlier gradients are forgotten. Raises: AssertionError where a step's gradient depends on those before."""
    norms = gradient_norms(trainer)
    # The same sums over the same ten examples, in an order of their own each epoch: 10 * 32 terms in float32.
    assert max(norms) - min(norms) <= 320 * 2.0**-24 * max(norms), f"got gradients of {norms}, but should be equal"


def test_a_step_forgets_earlier_gradients() -> None:
    forgets(Trainer)
    with pytest.raises(AssertionError, match="but should be equal"):
        forgets(faults.NeverZeroed)
