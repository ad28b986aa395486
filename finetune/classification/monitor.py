"""What a run of classification is watched by: dev at every record, the best kept, training's own loss and accuracy.

The best is the highest accuracy on dev; of equal ones the first. It is on the disk before training goes on.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from finetune.classification.multitask import JointTrainer
from finetune.classification.scores import Call, Tally
from finetune.data.corpus import read_text
from finetune.errors import BadInput
from finetune.training import checkpoint
from finetune.training.processes import OneProcess
from finetune.training.train import Batch, Trainer

Losses = Callable[[Tensor, Tensor], Tensor]
"""How logits (B, classes) and labels (B) become losses (B)."""


def read_records(metrics: Path) -> list[dict[str, Any]]:
    """The evaluations that a run wrote down, a line each. Raises: BadInput, naming the line that is something else."""
    records = []
    for number, line in enumerate(read_text(metrics).splitlines(), 1):
        try:
            record = json.loads(line)
            if not (math.isfinite(record["step"]) and math.isfinite(record["dev_accuracy"])):
                raise ValueError(line)
        except (ValueError, KeyError, TypeError, RecursionError):
            raise BadInput(
                f"{metrics}, line {number} is not an evaluation of a run: take another --output_dir"
            ) from None
        records.append(record)
    return records


class Monitor:
    """A loss and a sink for the trainer.

    Args: model, whose trainable parameters are kept; call, how a batch becomes logits; evaluate, dev's tally; examples,
        of an epoch; path, where the best goes, None to keep it in memory alone; losses, of the examples of a batch,
        what is trained on where it is not their negative log-likelihood; patience, training ends after so many
        evaluations without a better one; team, the processes, which all have such a monitor: the first one writes.
    """

    def __init__(
        self, model: nn.Module, call: Call, evaluate: Callable[[], Tally], examples: int, path: Path | None, *,
        losses: Losses | None = None, patience: int | None = None, team: OneProcess | None = None,
    ) -> None:  # fmt: skip
        self.model, self.call, self.evaluate, self.examples, self.path = model, call, evaluate, examples, path
        self.losses, self.patience, self.team = losses, patience, team or OneProcess("cpu")
        self.training = Tally()
        self.records: list[dict[str, Any]] = []
        self.best: dict[str, Any] | None = None
        self.kept: dict[str, Tensor] = {}
        self.listeners: list[Callable[[Mapping[str, Any]], None]] = []
        self.trainer: Trainer | None = None
        self.recalled: Path | None = None

    def loss(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """The summed loss of a batch and its number of labels, as the trainer asks for; it is counted on the way."""
        labels = batch["labels"]
        logits = self.call(model, batch)
        loss = self.training.add(logits, labels)
        if self.losses is not None:
            loss = self.losses(logits, labels).sum()
        return loss, torch.tensor(labels.numel(), device=labels.device)

    def __call__(self, record: Mapping[str, Any]) -> None:
        """Evaluate on dev, keep the best, tell the listeners. Raises: BadInput if the loss on dev is not finite."""
        dev, training = self.evaluate(), self.training.totals(self.team.all_reduce, self.team.device)
        if not math.isfinite(dev.loss):
            raise BadInput(
                f"step {record['step']}: the loss on dev is {dev.loss}: the weights have grown beyond what a number "
                "holds; take a smaller --lr"
            )
        found = {
            "step": record["step"], "epochs": record["tokens"] / self.examples, "train_loss": training.loss,
            "train_loss_error": training.loss_error, "train_accuracy": training.accuracy, "dev_loss": dev.loss,
            "dev_accuracy": dev.accuracy,
            "learning_rate": record["learning_rate"], "gradient_norm": record["gradient_norm"],
        }  # fmt: skip
        if isinstance(self.trainer, JointTrainer):
            found["masked_lm_loss"] = self.trainer.masked_lm_loss
        self.training = Tally()
        self.records.append(found)
        if self.best is None or found["dev_accuracy"] > self.best["dev_accuracy"]:
            self.best = found
            self.kept = {
                name: p.detach().to("cpu", copy=True) for name, p in self.model.named_parameters() if p.requires_grad
            }
            if self.path is not None and self.team.rank == 0:
                checkpoint.save(self.path, {"trained": self.kept, "best": found})
        for listener in self.listeners:
            listener(found)
        if self.is_over() and self.trainer is not None:
            self.trainer.stop = True

    def is_over(self) -> bool:
        """Whether `patience` evaluations in a row were not better than the best before them."""
        if self.patience is None or self.best is None:
            return False
        since = sum(record["step"] > self.best["step"] for record in self.records)
        return bool(since >= self.patience)

    def describe_divergence(self, classes: int) -> str | None:
        """In words how training went astray: its loss rose, and ended above ln C, that of guessing; None if it did not.

        Both by more than four standard errors of the means, which chance exceeds once in 15,000 times.
        """
        first, last = self.records[0], self.records[-1]
        error = last.get("train_loss_error", 0.0)
        rise = math.hypot(error, first.get("train_loss_error", 0.0))
        guessing = math.log(classes)
        if last["train_loss"] - guessing <= 4 * error or last["train_loss"] - first["train_loss"] <= 4 * rise:
            return None
        return (
            f"training diverged: its loss rose from {first['train_loss']:.3f} to {last['train_loss']:.3f}, and "
            f"guessing has {guessing:.3f}; take a smaller --lr, or a longer warm-up"
        )

    def recall(self, step: int | None, metrics: Path) -> None:
        """Go on with what was seen up to a step: the records of a file, and the best of them.

        A best that was kept after the step is of what will be trained again, to the same bits.

        Raises: BadInput where the best that the records name is not on the disk, or a file is something else.
        """
        if step is None:
            return
        self.recalled = metrics
        self.records = read_records(metrics)
        if not self.records or self.path is None:
            return
        self.best = max(self.records, key=lambda record: record["dev_accuracy"])  # the first of equal ones
        there = checkpoint.load_record(self.path, {"best": dict, "trained": dict}, "the best weights of a run")
        at = there["best"].get("step")
        if at == self.best["step"]:
            self.kept = there["trained"]
        elif isinstance(at, int) and at > step:
            self.best = None  # what was the best until then was replaced by a later one, which comes about again
        else:
            raise BadInput(f"{self.path} is not the best of {metrics}: take another --output_dir")

    @torch.no_grad()
    def put_best(self) -> None:
        """Put the best weights into the model. Raises: BadInput where nothing was ever evaluated."""
        if self.best is None and self.recalled is not None:
            raise BadInput(
                f"{self.recalled} is damaged: no evaluation of the run can be read in it; "
                "give --overwrite_output_dir, or another --output_dir"
            )
        if self.best is None:
            raise BadInput("nothing was evaluated: there is no best")
        parameters = dict(self.model.named_parameters())
        for name, value in self.kept.items():
            if name not in parameters or parameters[name].shape != value.shape:
                raise BadInput(f"{self.path} holds {name}, which does not fit this model: take another --output_dir")
            parameters[name].copy_(value)
