"""How a classifier does on a set of examples: sums over all of them, divided once.

A mean of batch means weighs the last, shorter batch more than its examples; here it does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import eq
from typing import Any

import torch
from torch import Tensor, nn

from finetune.characters.evaluate import wilson
from finetune.models.gpt import at_least_single

Call = Callable[[nn.Module, Mapping[str, Tensor]], Tensor]
"""How a batch becomes logits (B, classes)."""


@dataclass
class Tally:
    """Right answers, examples and the summed loss so far; the mean is taken on demand.

    What a device has computed is fetched when a figure is, not batch by batch: each fetch waits for all that
    the device has to do, and where several processes share it, for the others' turns as well. `settle` asks.
    """

    right: int = 0
    count: int = 0
    loss_sum: float = 0.0
    square_sum: float = 0.0
    labels: list[int] = field(default_factory=list)
    predictions: list[int] = field(default_factory=list)
    waiting: list[tuple[Tensor, Tensor, Tensor]] = field(default_factory=list)

    def add(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Take in a batch; returns its summed negative log-likelihood, with its graph."""
        losses = nn.functional.cross_entropy(at_least_single(logits), labels, reduction="none")
        exact = losses.detach().double()
        self.waiting.append((labels, logits.detach().argmax(-1), torch.stack((exact.sum(), exact.square().sum()))))
        return losses.sum()

    def settle(self) -> None:
        """Count the batches that were taken in, in their order: sums are those of adding one after the other."""
        if not self.waiting:
            return
        labels, chosen = (torch.cat([batch[n] for batch in self.waiting]).tolist() for n in (0, 1))
        for loss, square in torch.stack([sums for _, _, sums in self.waiting]).tolist():
            self.loss_sum, self.square_sum = self.loss_sum + loss, self.square_sum + square
        self.right += sum(map(eq, labels, chosen))
        self.count += len(labels)
        self.labels.extend(labels)
        self.predictions.extend(chosen)
        self.waiting.clear()

    @property
    def accuracy(self) -> float:
        """The share of right answers; 0 of none."""
        self.settle()
        return self.right / max(self.count, 1)

    @property
    def loss(self) -> float:
        """The mean negative log-likelihood, in nats; 0 of none."""
        self.settle()
        return self.loss_sum / max(self.count, 1)

    @property
    def loss_error(self) -> float:
        """The standard error of the mean loss, in nats; 0 of none."""
        self.settle()
        count = max(self.count, 1)
        return math.sqrt(max(self.square_sum / count - self.loss**2, 0.0) / count)

    def totals(self, total: Callable[[Tensor], Tensor], device: torch.device) -> Tally:
        """The sums of all processes, without the single predictions.

        Args: total, sums a tensor over the processes; device, where such a tensor lies.
        """
        self.settle()
        own = torch.tensor([self.right, self.count, self.loss_sum, self.square_sum], dtype=torch.float64)
        right, count, loss, square = total(own.to(device)).tolist()
        return Tally(round(right), round(count), loss, square)

    def to_json(self) -> dict[str, Any]:
        """Accuracy with its 95 % interval (Wilson), loss and count."""
        self.settle()
        low, high = wilson(self.right, self.count)
        return {"accuracy": self.accuracy, "interval": [low, high], "loss": self.loss, "examples": self.count}


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Every module in evaluation mode, and each back in its own afterwards; no gradients meanwhile."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, mode in modes.items():
            module.training = mode


def scores(model: nn.Module, call: Call, batches: Iterable[Mapping[str, Tensor]], device: torch.device) -> Tally:
    """What a model does on batches that hold labels; the model is left in the modes that it was in."""
    tally = Tally()
    with evaluating(model):
        for batch in batches:
            there = {name: value.to(device) for name, value in batch.items()}
            tally.add(call(model, there), there["labels"])
        tally.settle()
    return tally
