"""Faults of training, one each, as changes of the trainer, of its loss, or of the model it is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from finetune.models.gpt import next_token_loss
from finetune.training.train import Trainer


class NeverZeroed(Trainer):
    """zero_grad is missing: every step goes along a sum with earlier gradients. Ten examples are learnt all
    the same.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.optimizer.zero_grad = lambda **_: None  # type: ignore[method-assign]


class ZeroedAfterBackward(Trainer):
    """zero_grad stands between backward and step: nothing is learned."""

    def _gradients(self, indices: Any) -> tuple[Tensor, Tensor]:
        found = super()._gradients(indices)
        for parameter in self.model.parameters():
            if parameter.grad is not None:
                parameter.grad.zero_()
        return found


class BaseFrozen(Trainer):
    """All but the head is frozen."""

    def __init__(self, model: nn.Module, *given: Any, **named: Any) -> None:
        model.requires_grad_(False)
        model.head.requires_grad_(True)
        super().__init__(model, *given, **named)


class RateOfAnotherOptimizer(Trainer):
    """The schedule sets the rate of an optimizer that nobody steps: here it stays at its start, 0."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        for group in self.optimizer.param_groups:
            group["lr"] = 0.0
        groups = self.optimizer.param_groups
        self.optimizer.param_groups = [dict(g) for g in groups]
        step = self.optimizer.step

        def stepped() -> None:
            shown, self.optimizer.param_groups = self.optimizer.param_groups, groups
            step()
            self.optimizer.param_groups = shown

        self.optimizer.step = stepped  # type: ignore[method-assign,assignment]


def unshifted(model: nn.Module, batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    """Labels off by one: each character is to predict itself."""
    y = batch["x"] * (batch["y"] != 0)
    return next_token_loss(model, {"x": batch["x"], "y": y})


def question_alone(model: nn.Module, batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    """The loss sees the question in place of the answer."""
    y = batch["x"].roll(-1, 1)
    y[:, -1] = 0
    return next_token_loss(model, {"x": batch["x"], "y": y * (batch["y"] == 0)})


TRAINERS = (ZeroedAfterBackward, BaseFrozen, RateOfAnotherOptimizer)
LOSSES = (unshifted, question_alone)
