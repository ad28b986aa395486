"""Hand-ins of `train` and `evaluate_model`: right ones pass as they stand, and each common mistake is named."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from finetune.classification.hand_in import Check, bind, mark_evaluation, mark_training
from finetune.errors import BadInput


class Skeleton:
    """The loops of `base_classification.py` with their blanks filled in; every line that can be wrong is a method."""

    def train(
        self, mymodel: Any, num_epochs: int, train_dataloader: Any, validation_dataloader: Any, device: Any, lr: float
    ) -> None:
        from transformers import get_scheduler

        optimizer = torch.optim.AdamW(mymodel.parameters(), lr=lr)
        scheduler = get_scheduler(
            "linear", optimizer=optimizer, num_warmup_steps=50, num_training_steps=len(train_dataloader) * num_epochs
        )
        self.begin(mymodel)
        for _ in range(num_epochs):
            self.begin_epoch(mymodel)
            for batch in self.batches(train_dataloader, validation_dataloader):
                logits = self.logits(mymodel, batch)
                loss = self.loss(logits, batch["labels"].to(device))
                self.update(loss, optimizer, scheduler)
            self.end_epoch(scheduler)
            self.evaluate_model(mymodel, validation_dataloader, device)

    def begin(self, model: Any) -> None: ...

    def begin_epoch(self, model: Any) -> None:
        model.train()

    def batches(self, train: Any, dev: Any) -> Any:
        return train

    def logits(self, model: Any, batch: Any) -> Any:
        return model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits

    def loss(self, logits: Any, labels: Any) -> Any:
        return nn.CrossEntropyLoss()(logits, labels)

    def update(self, loss: Any, optimizer: Any, scheduler: Any) -> None:
        loss.backward()
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()

    def end_epoch(self, scheduler: Any) -> None: ...

    def evaluate_model(self, model: Any, dataloader: Any, device: Any) -> Any:
        model.eval()
        right, count = 0, 0
        for batch in dataloader:
            chosen = torch.argmax(self.logits(model, batch), dim=1)
            right, count = right + int((chosen == batch["labels"]).sum()), count + len(chosen)
        return {"accuracy": right / count}


class GraphsOff(Skeleton):
    """An evaluation under no_grad, its accuracy in a tuple, and the loss of the model."""

    def evaluate_model(self, model: Any, dataloader: Any, device: Any) -> Any:
        with torch.no_grad():
            return 0.25, super().evaluate_model(model, dataloader, device)["accuracy"]


class NeverZeroed(Skeleton):
    def update(self, loss: Any, optimizer: Any, scheduler: Any) -> None:
        loss.backward()
        optimizer.step()
        scheduler.step()


class ZeroedTooSoon(Skeleton):
    def update(self, loss: Any, optimizer: Any, scheduler: Any) -> None:
        loss.backward()
        optimizer.zero_grad(set_to_none=False)
        optimizer.step()
        scheduler.step()


class NoBackward(Skeleton):
    def update(self, loss: Any, optimizer: Any, scheduler: Any) -> None:
        optimizer.step()
        scheduler.step()


class Summed(Skeleton):
    def loss(self, logits: Any, labels: Any) -> Any:
        return nn.CrossEntropyLoss(reduction="sum")(logits, labels)


class SoftmaxTwice(Skeleton):
    def loss(self, logits: Any, labels: Any) -> Any:
        return nn.CrossEntropyLoss()(logits.softmax(-1), labels)


class ModeOnce(Skeleton):
    def begin(self, model: Any) -> None:
        model.train()

    def begin_epoch(self, model: Any) -> None: ...


class WithoutMask(Skeleton):
    def logits(self, model: Any, batch: Any) -> Any:
        return model(input_ids=batch["input_ids"]).logits


class ScheduledByEpoch(Skeleton):
    def update(self, loss: Any, optimizer: Any, scheduler: Any) -> None:
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    def end_epoch(self, scheduler: Any) -> None:
        scheduler.step()


class TrainsOnDev(Skeleton):
    def batches(self, train: Any, dev: Any) -> Any:
        return [*train, *dev]


class LastBatchLost(Skeleton):
    def batches(self, train: Any, dev: Any) -> Any:
        return list(train)[:-1]


class EvaluatedInTraining(Skeleton):
    def evaluate_model(self, model: Any, dataloader: Any, device: Any) -> Any:
        model.eval = lambda: model.train()
        return super().evaluate_model(model, dataloader, device)


class MeanOfMeans(Skeleton):
    def evaluate_model(self, model: Any, dataloader: Any, device: Any) -> Any:
        model.eval()
        found = [(torch.argmax(self.logits(model, b), 1) == b["labels"]).double().mean() for b in dataloader]
        return torch.stack(found).mean()


class Head(Skeleton):
    """Trains the base as well."""

    def begin(self, model: Any) -> None:
        model.base.requires_grad_(True)
        with torch.no_grad():
            model.base[1].weight.add_(1)


WRONG = [
    (NeverZeroed, "train: each step", "optimizer.zero_grad() is missing"),
    (ZeroedTooSoon, "train: each step", "zeroed between backward() and step()"),
    (NoBackward, "train: each step", "loss.backward() comes before the step"),
    (Summed, "train: each step", "a sum over the batch, not its mean"),
    (SoftmaxTwice, "train: each step", "the largest gradient is"),
    (ModeOnce, "train: dropout is on", "call model.train() in every epoch"),
    (WithoutMask, "train: the mask is passed on", "padding counts as text"),
    (ScheduledByEpoch, "train: the largest rate", "after every step, not after every epoch"),
    (TrainsOnDev, "train: every example", "should be one a batch"),
    (LastBatchLost, "train: every example", "should be one a batch"),
    (Head, "train: what is frozen stays", "were changed"),
    (WithoutMask, "evaluate: the mask is passed on", "padding counts as text"),
    (EvaluatedInTraining, "evaluate: dropout is off", "call model.eval()"),
    (MeanOfMeans, "evaluate: the accuracy", "is the mean of the batches' accuracies"),
]


def marks(kind: type[Skeleton]) -> list[Check]:
    made = kind()
    return [*mark_training(made.train), *mark_evaluation(made.evaluate_model)]


@pytest.mark.parametrize("kind", [Skeleton, GraphsOff])
def test_a_right_hand_in_has_no_mistake(kind: type[Skeleton]) -> None:
    checks = marks(kind)
    assert [check for check in checks if check.right is False] == []
    costs = [check.name for check in checks if check.right is None]
    assert costs == (["evaluate: no graph is kept"] if kind is Skeleton else [])


@pytest.mark.parametrize(("kind", "name", "why"), WRONG, ids=lambda value: getattr(value, "__name__", None))
def test_a_common_mistake_is_named(kind: type[Skeleton], name: str, why: str) -> None:
    (found,) = [check for check in marks(kind) if check.name.startswith(name)]
    assert found.right is False
    assert why in found.why


def test_parameters_are_recognised_by_their_names() -> None:
    def train(
        model: Any, train_loader: Any, dev_loader: Any, learning_rate: Any, num_epochs: Any, seed: int = 3
    ) -> None: ...

    given = {"model": 1, "epochs": 2, "train": 3, "dev": 4, "device": 5, "rate": 6}
    bound = {"model": 1, "train_loader": 3, "dev_loader": 4, "learning_rate": 6, "num_epochs": 2}
    assert bind(train, given, {}) == bound
    assert bind(train, given, {"seed": 9}) == bound | {"seed": 9}


def test_a_parameter_that_is_not_known_is_named() -> None:
    def train(model: Any, model_name: Any) -> None: ...

    with pytest.raises(BadInput, match="what is the parameter 'model_name' of train"):
        bind(train, {"model": 1}, {})
