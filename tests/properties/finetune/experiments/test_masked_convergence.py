"""Masked against left to right: the steps to a share of the gain, the floor, and an encoder's loss."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from finetune.experiments.masked_convergence import full_softmax, loss_of_targets, steps_to_gain, unigram_loss
from finetune.experiments.texts import as_text


@pytest.mark.parametrize(
    ("curve", "start", "steps"),
    [
        ([(10, 2.0), (20, 1.0)], 3.0, 18.0),  # the goal is 1.2: four fifths of the second stretch
        ([(10, 1.0)], 2.0, 9.0),
        ([(10, 5.0), (20, 1.0)], 2.0, 10 + 10 * 3.9 / 4),  # it begins above the floor
        ([(10, 1.0), (20, 1.5)], 2.0, 9.0),
    ],
)
def test_the_step_lies_between_two_judgings(curve: list[tuple[int, float]], start: float, steps: float) -> None:
    assert steps_to_gain(curve, start) == pytest.approx(steps)


def test_without_a_gain_there_is_no_step() -> None:
    assert math.isnan(steps_to_gain([(10, 3.0)], 2.0)) and math.isnan(steps_to_gain([], 2.0))


def test_the_floor_is_the_entropy_of_equally_frequent_letters() -> None:
    text = as_text("abcd" * 3000, "x")
    # one more of each id is counted, PAD and MASK included: two of 10,802 places
    assert unigram_loss(text) == pytest.approx(math.log(4), abs=1e-3)


def test_the_loss_is_summed_over_targets_alone_and_weights_look_ahead() -> None:
    model = torch.nn.Embedding.from_pretrained(torch.zeros(6, 6))
    batch = {"x": torch.tensor([[1, 2, 3]]), "y": torch.tensor([[4, 0, 0]])}
    loss, count = loss_of_targets(model, batch)
    assert int(count) == 1 and float(loss) == pytest.approx(math.log(6))
    assert full_softmax(torch.zeros(3, 3)).tolist() == np.full((3, 3), np.float32(1 / 3)).tolist()
