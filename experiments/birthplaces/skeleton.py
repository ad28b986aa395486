"""The trainer of the assignment's public skeleton where it differs from `finetune.training.train.Trainer`.

Five differences, as its trainer.py has them. All positions of a batch count as tokens, padding too. The cosine goes on
after `final_tokens` and rises again: over 650 epochs with `final_tokens` of 200, the rate is at its floor at epoch 200,
back at its peak at epoch 400 and low again at epoch 600. A step takes the rate that the step before it left, the first
one the peak. Weight decay leaves out biases alone: a filter by name looks for "LayerNorm.weight", and no parameter is
called so. The order of examples never changes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from finetune.training.train import Trainer


class SkeletonTrainer(Trainer):
    """A `Trainer` with the rate, the decay and the order of the public skeleton."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        groups: list[dict[str, Any]] = [
            {"params": [], "weight_decay": self.config.weight_decay}, {"params": [], "weight_decay": 0.0},
        ]  # fmt: skip
        for name, parameter in self.model.named_parameters():
            groups["bias" in name]["params"].append(parameter)
        self.optimizer = torch.optim.AdamW(groups, self.config.learning_rate, self.config.betas, fused=True)

    def _order(self, count: int) -> npt.NDArray[np.int64]:
        """The order of the file, in each epoch."""
        return np.arange(count)

    def _factor(self) -> float:
        """The factor that the steps before this one leave it."""
        places = self.source.batch(0, np.arange(1))["x"].shape[1]
        return skeleton_rate(
            (self.epoch * len(self.source) + self.position) * places,
            self.config.warmup_tokens,
            self.config.final_tokens,
        )


def skeleton_rate(tokens: int, warmup: int, final: int | None) -> float:
    """The factor of the rate after so many tokens: max(0.1, (1 + cos(pi p)) / 2), where p grows past 1.

    Args: tokens, of all steps before; warmup, tokens of a linear rise; final, where p is 1. Returns: a factor.
    Example:
        >>> [skeleton_rate(tokens, 0, 100) for tokens in (0, 100, 200)]
        [1.0, 0.1, 1.0]
    """
    if not tokens:
        return 1.0
    if tokens < warmup:
        return tokens / max(1, warmup)
    assert final is not None
    progress = (tokens - warmup) / max(1, final - warmup)
    return max(0.1, 0.5 * (1.0 + math.cos(math.pi * progress)))
