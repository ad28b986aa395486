"""The experiment without scores: the floor is the mean, and each variant has the mixing of its name."""

from __future__ import annotations

import torch

from finetune.experiments.attention import PluggedAttention, ScoredMix
from finetune.experiments.linear_cost import AttentionFree, RandomFeatures
from finetune.experiments.without_scores import EXPERIMENT, MeanMix, attention
from finetune.models.gpt import GPTConfig


def test_each_variant_mixes_as_its_name_says() -> None:
    config = GPTConfig(10, 8, 1, 2, 8)
    mixes = {name: getattr(attention(name, config), "mix", None) for name in EXPERIMENT.variants}
    assert isinstance(mixes["attention"], ScoredMix) and isinstance(mixes["mean"], MeanMix)
    assert isinstance(mixes["AFT"], AttentionFree) and mixes["AFT"].weight is not None
    assert isinstance(mixes["AFT-simple"], AttentionFree) and mixes["AFT-simple"].weight is None
    assert isinstance(mixes["8 features"], RandomFeatures) and mixes["8 features"].directions.shape == (8, 4)
    assert isinstance(attention("attention", config), PluggedAttention)


def test_the_mean_is_that_of_the_values_so_far() -> None:
    value = torch.randn(1, 2, 5, 3)
    found = MeanMix()(value, value, value)
    assert torch.allclose(found[:, :, 3], value[:, :, :4].mean(2), atol=1e-6)
