"""A tiny GPT: shared parts start alike, a run repeats to the bit, and one that diverges is a result."""

from __future__ import annotations

import math

import torch
from torch import nn

from finetune.experiments.attention import PluggedAttention, ScoredMix
from finetune.experiments.experiment import Setting
from finetune.experiments.scores import Bilinear
from finetune.experiments.texts import as_text
from finetune.experiments.tiny_gpt import build, config_of, train_on_text
from finetune.models.gpt import GPTConfig

TEXT = as_text("the quick brown fox jumps over the lazy dog; " * 300, "fox")
SMALL = Setting(seeds=2, steps=6, batch_size=4, block_size=16, n_layer=1, n_head=2, n_embd=8)


def bilinear(config: GPTConfig) -> nn.Module:
    return PluggedAttention(config, ScoredMix(Bilinear(config.n_head, config.n_embd // config.n_head)))


def test_parts_that_variants_share_start_from_the_same_numbers() -> None:
    config = config_of(SMALL, TEXT.tokens)
    models = [build(config, 3, make) for make in (None, PluggedAttention, bilinear)]
    for name, parameter in models[0].named_parameters():
        if ".attn." not in name:
            assert all(torch.equal(parameter, model.get_parameter(name)) for model in models), name
    first, second = (models[n].get_parameter("blocks.0.attn.query.weight") for n in (1, 2))
    assert first.std() > 0.05 and second.std() > 0.05


def test_each_seed_and_each_block_has_a_start_of_its_own() -> None:
    config = config_of(SMALL, TEXT.tokens, n_layer=2)
    weights = [
        build(config, seed, PluggedAttention).get_parameter(f"blocks.{block}.attn.query.weight")
        for seed in (0, 1) for block in (0, 1)
    ]  # fmt: skip
    assert not any(torch.equal(a, b) for n, a in enumerate(weights) for b in weights[:n])


def test_a_run_repeats_to_the_bit() -> None:
    runs = [train_on_text(build(config_of(SMALL, TEXT.tokens), 1, bilinear), SMALL, 1, TEXT) for _ in range(2)]
    assert runs[0]["perplexity"] == runs[1]["perplexity"] and runs[0]["train_curve"] == runs[1]["train_curve"]
    assert [step for step, _ in runs[0]["held_out_curve"]] == [1, 2, 3, 4, 5, 6]


class Exploding(nn.Module):
    """Attention whose outputs overflow."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(math.inf))

    def forward(self, x: torch.Tensor, start: int, cache: object) -> torch.Tensor:
        return x * self.scale


def test_a_run_that_diverges_says_so() -> None:
    found = train_on_text(build(config_of(SMALL, TEXT.tokens), 0, Exploding), SMALL, 0, TEXT)
    assert found["diverged"] == 1 or found["diverged"] == 0
    assert math.isnan(found["perplexity"]) and math.isnan(found["train_perplexity"])
