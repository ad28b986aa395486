"""Made-up sequences: the same whoever asks, and as likely as they say."""

from __future__ import annotations

import numpy as np
import torch

from finetune.experiments.tasks import FIRST, RandomTokens, tokens


def test_a_stretch_does_not_depend_on_its_batch() -> None:
    source = RandomTokens(4, 8, seed=3)
    alone, together = source.batch(1, np.array([7])), source.batch(1, np.array([5, 7]))
    assert torch.equal(alone["x"][0], together["x"][1]) and torch.equal(alone["x"][:, 1:], alone["y"][:, :-1])
    assert not torch.equal(source.batch(2, np.array([7]))["x"], alone["x"])


def test_tokens_are_uniform() -> None:
    counts = torch.bincount(tokens(0, 0, np.arange(4000), 4, 5).flatten(), minlength=FIRST + 5)
    assert not counts[:FIRST].any()
    # five standard deviations of a binomial of 16,000 draws with p = 1/5
    assert ((counts[FIRST:] - 3200).abs() < 5 * (16_000 * 0.16) ** 0.5).all()
