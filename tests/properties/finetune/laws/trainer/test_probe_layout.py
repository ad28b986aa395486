"""The layout of the probe that a trainer trains."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from finetune.laws.trainer.probe_layout import FROZEN, LAYOUT, MATRICES, SIZE, TABLES, name_of, where


def test_the_layout_says_which_parameters_are_which() -> None:
    assert sum(where(set(LAYOUT))) == SIZE and LAYOUT.keys() > MATRICES | TABLES | FROZEN
    places = [n for n, frozen in enumerate(where(FROZEN)) if frozen]
    assert {name_of(n) for n in places} == FROZEN
    with pytest.raises(IndexError):
        name_of(SIZE)


def test_the_probe_leaves_generators_and_modes_to_the_trainer() -> None:
    """It begins in evaluation mode, and asks for gradients also where the caller has none."""
    modes = []

    def train(model: Any, loss: Any, examples: Any, config: Any) -> None:
        modes.append((model.training, torch.is_grad_enabled(), len(examples), len(list(examples))))

    from finetune.laws.trainer import probe

    with torch.no_grad():
        probe.make_target(train)(torch.zeros(2, SIZE), torch.tensor([1, 2]), torch.zeros(SIZE))
    assert modes == [(False, True, 2, 2)]
