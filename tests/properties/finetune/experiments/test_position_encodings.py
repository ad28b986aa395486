"""The encodings of positions: one place each, and what a table does not know is 0."""

from __future__ import annotations

import pytest
import torch

from finetune.experiments.attention import PluggedAttention, ScoredMix
from finetune.experiments.position_encodings import EXPERIMENT, AlibiScore, attention, position_table
from finetune.experiments.scores import ScaledDot
from finetune.models.gpt import GPTConfig

CONFIG = GPTConfig(10, 16, 1, 2, 8, initial=0.1)


@pytest.mark.parametrize("variant", EXPERIMENT.variants)
def test_each_variant_has_its_positions_in_one_place(variant: str) -> None:
    found, table = attention(variant, CONFIG), position_table(variant, CONFIG)
    assert isinstance(found, PluggedAttention) and isinstance(found.mix, ScoredMix)
    places = [table is not None, found.rotated, isinstance(found.mix.score, AlibiScore)]
    assert sum(places) == (variant != "none")
    assert table is None or table.requires_grad == (variant == "learned")


def test_the_sines_are_as_large_as_the_tokens() -> None:
    table = position_table("sinusoidal", CONFIG)
    # sin^2 + cos^2 = 1 for each pair of features, so the mean square is initial^2
    assert table is not None and float(table.square().mean()) == pytest.approx(0.01, rel=1e-5)


def test_alibi_takes_a_slope_times_the_distance_off() -> None:
    q, k = torch.randn(2, 1, 2, 5, 4)
    taken = ScaledDot()(q, k) - AlibiScore()(q, k)
    assert torch.allclose(taken[0, :, 4, 1], torch.tensor([2**-4 * 3, 2**-8 * 3]), atol=1e-6)
