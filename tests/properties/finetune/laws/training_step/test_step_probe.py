"""The probe of a training step."""

from __future__ import annotations

from typing import Any

import torch

from finetune.laws.trainer.probe_layout import SIZE
from finetune.laws.training_step import step_probe


def test_the_probe_gives_the_mode_that_it_is_told_and_asks_for_gradients() -> None:
    seen = []

    def step(model: Any, optimizer: Any, loss: Any, batches: Any, clip: float) -> None:
        seen.append((model.training, torch.is_grad_enabled(), len(batches), [len(b["x"]) for b in batches]))

    with torch.no_grad():
        for training in (False, True):
            step_probe.make_target(step)(
                torch.zeros(3, SIZE), torch.tensor([1, 2, 0]), torch.zeros(SIZE), [["step", [[0], [1, 2]]]], 0.1, 1.0, training
            )  # fmt: skip
    assert seen == [(False, True, 2, [1, 2]), (True, True, 2, [1, 2])]
