"""Experiment: the Attention Free Transformer and random features in the place of attention."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from finetune.experiments.attention import PluggedAttention
from finetune.experiments.experiment import Claim, Experiment, Measure, Setting
from finetune.experiments.linear_cost import AttentionFree, RandomFeatures
from finetune.experiments.texts import Text
from finetune.experiments.tiny_gpt import build, config_of, train_on_text
from finetune.models.gpt import GPTConfig


def attention(variant: str, config: GPTConfig) -> nn.Module:
    """Return a block's attention with the mixing of a variant."""
    d = config.n_embd // config.n_head
    mixes: dict[str, Any] = {
        "AFT": lambda: AttentionFree(config.block_size),
        "AFT-simple": AttentionFree,
        "8 features": lambda: RandomFeatures(d, 8),
        "64 features": lambda: RandomFeatures(d, 64),
    }
    return PluggedAttention(config, mixes[variant]() if variant in mixes else MeanMix() if variant == "mean" else None)


class MeanMix(nn.Module):
    """o_i = the mean of v_0 ... v_i: what attention is without any weights."""

    def forward(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        """Return the means."""
        return value.cumsum(-2) / torch.arange(1, value.shape[-2] + 1, dtype=value.dtype)[:, None]


def run(variant: str, seed: int, setting: Setting, text: Text) -> dict[str, Any]:
    """Train one model and judge it."""
    model = build(config_of(setting, text.tokens), seed, lambda config: attention(variant, config))
    return train_on_text(model, setting, seed, text)


EXPERIMENT = Experiment(
    name="without_scores",
    title="Attention without a matrix of scores",
    question="How much do the Attention Free Transformer and random features lose against attention?",
    background=(
        "Source 001 (section 2.2) offers both as bigger challenges. The Attention Free Transformer weighs each "
        "feature of the values by the key and by a learnt number for the two places; random features estimate "
        "exp(q . k) without bias, with a variance that more features lower (`derivations/random_features.md`). "
        "The mean of all values so far is the floor: no weights at all. What they cost on long inputs is "
        "measured by `long_inputs`."
    ),
    variants={
        "attention": "scaled dot products and a causal softmax",
        "AFT": "Attention Free Transformer, a number for each pair of places",
        "AFT-simple": "the same without these numbers",
        "8 features": "random features of the softmax kernel, 8 a head",
        "64 features": "64 a head",
        "mean": "the mean of the values so far",
    },
    baseline="attention",
    measures=(
        Measure("perplexity", "held-out perplexity", ratio=True),
        Measure("step_milliseconds", "ms of the processor a step", ratio=True, timed=True, digits=1),
        Measure("parameters", "parameters", compared=False, digits=0),
    ),
    claims=(
        Claim("the Attention Free Transformer predicts worse than attention", "perplexity", "AFT", "attention",
              "higher", 0.01),
        Claim("its numbers for places help", "perplexity", "AFT", "AFT-simple", margin=0.01),
        Claim("64 random features predict as well as attention", "perplexity", "64 features", "attention", "same",
              0.02),
        Claim("8 random features predict worse than 64", "perplexity", "8 features", "64 features", "higher", 0.01),
        Claim("weights help: attention predicts better than the mean", "perplexity", "attention", "mean", margin=0.01),
    ),
    run=run,
    setting=Setting(),
    curve=("held_out_curve", "step", "held-out perplexity"),
    code=(AttentionFree, RandomFeatures),
)  # fmt: skip
