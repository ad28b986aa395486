"""The experiment on score functions: variants differ in their score alone."""

from __future__ import annotations

from finetune.experiments.attention import PluggedAttention, ScoredMix
from finetune.experiments.score_functions import EXPERIMENT, attention
from finetune.experiments.scores import SCORES
from finetune.models.gpt import GPTConfig


def test_every_score_is_a_variant_and_sits_in_the_attention() -> None:
    assert set(EXPERIMENT.variants) == set(SCORES)
    config, kinds = GPTConfig(10, 8, 1, 2, 8), set()
    for name in SCORES:
        found = attention(name, config)
        assert isinstance(found, PluggedAttention) and isinstance(found.mix, ScoredMix)
        kinds.add(type(found.mix.score))
    assert len(kinds) == len(SCORES)
